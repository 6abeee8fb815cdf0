//! Archives that the judge wrote itself. Members whose names begin with an underscore hold the facts that the format does not define.

use super::entry::Entry;
use super::message::Field;
use crate::trace::exchange::{Body, Connection, Exchange, Failure, Outcome, Request, Response};
use crate::trace::knowledge::{Fact, FactSet, Knowledge};
use crate::trace::recording::{Head, Unreadable};

/// The exchange of an entry, with every fact that the judge wrote.
pub(super) fn exchange(head: &Head, entry: &Entry) -> Result<Exchange, Unreadable> {
    let of_number = entry.number.map_or_else(String::new, |number| format!(" {number}"));
    let wrong = |what: &str| Unreadable::Entry(format!("the entry{of_number}: {what}"));
    let time = |text: &Option<String>, what: &str| {
        text.as_deref().and_then(|text| text.parse().ok()).ok_or_else(|| wrong(what))
    };
    let mut withheld = FactSet::NONE;
    let (replica, target) = address_of(head, &entry.request.url).ok_or_else(|| wrong("another address"))?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let field =
        |name: &str| entry.request.headers.iter().find(|field| field.name == name).map(|field| field.value.clone());
    let body = entry.request.post_data.as_ref().map(|data| {
        if data.cut {
            withheld.insert(Fact::RequestBody);
        }
        let bytes = data.own_bytes().ok_or_else(|| wrong("a request body that is not base64"))?;
        Ok::<Body, Unreadable>(Body { content_type: field("content-type").unwrap_or_default(), bytes })
    });
    let body = body.transpose()?;
    let outcome = match (entry.failure, &entry.response) {
        (Some(kind), response) => {
            let detail = response.as_ref().and_then(|response| response.error.clone()).unwrap_or_default();
            Outcome::Failed(Failure { kind, detail })
        }
        (None, Some(response)) => {
            if response.content.cut {
                withheld.insert(Fact::ResponseBody);
            }
            let body = response.content.own_bytes().ok_or_else(|| wrong("a response body that is not base64"))?;
            let headers = response.headers.iter().map(|Field { name, value }| (name.clone(), value.clone())).collect();
            let status = response.status.unwrap_or_default() as u16;
            let response = Response { status, headers, body, cut: response.content.unread };
            if response.unreadable_coding().is_some() {
                withheld.insert(Fact::ResponseBody);
            }
            Outcome::Response(response)
        }
        (None, None) => return Err(wrong("no response")),
    };
    // The first `Authorization` field is the credential. A second one is among the further fields.
    let authorized = entry.request.headers.iter().position(|field| field.name == "authorization");
    let further = entry.request.headers.iter().enumerate();
    let further = further.filter(|(at, field)| Some(*at) != authorized && field.name != "content-type");
    Ok(Exchange {
        number: 0,
        probe: entry.probe.clone().unwrap_or_default().into(),
        step: entry.step.clone().unwrap_or_default(),
        request: Request {
            method: entry.request.method.clone(),
            path: path.to_owned(),
            query,
            authorization: field("authorization"),
            headers: further.map(|(_, field)| (field.name.clone(), field.value.clone())).collect(),
            body,
            connection: if entry.kept == Some(true) { Connection::Kept } else { Connection::Own },
            replica,
        },
        outcome,
        sent_at: time(&entry.started_date_time, "startedDateTime is not a time")?,
        received_at: time(&entry.received_at, "_receivedAt is not a time")?,
        known: Knowledge { withheld, answerer: entry.answerer.unwrap_or_default(), ..Knowledge::default() },
    })
}

/// The index of the address of the service that a request was sent to, where there are several, and the rest of its URL. The longest
/// matching address counts, because one may be the beginning of another.
fn address_of<'u>(head: &Head, url: &'u str) -> Option<(Option<usize>, &'u str)> {
    let addresses = std::iter::once(&head.base_url).chain(&head.replicas).enumerate();
    let found = addresses.filter_map(|(at, address)| Some((at, url.strip_prefix(address.as_str())?)));
    let (at, target) = found.min_by_key(|(_, target)| target.len())?;
    Some(((!head.replicas.is_empty()).then_some(at), target))
}
