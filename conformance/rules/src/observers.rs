//! Observers: the choices of the candidate where the specification leaves one. An observer cannot fail a candidate.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::history::{Animal, Creation, Entry, Era};
use crate::limits::{Answer, KeyLimits};
use crate::request::{Ambiguity, CreateBody, Credential, Operation, Parameter, PetId};
use crate::rules::answered;
use crate::rules::server::list::counted;
use crate::tolerance::Tolerance;
use crate::trace::json::Json;
use crate::trace::retry_after::RetryAfter;

/// An observer and the open requirement that it reports on.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// The identifier of an open requirement.
    pub id: &'static str,
    /// The choice of the candidate in words, as far as the trace shows it.
    pub observe: fn(&Facts<'_>) -> Option<String>,
}

/// Every observer. A requirement without an example in the catalogue cannot be observed over HTTP, and has none.
pub const OBSERVERS: &[Observer] = &[
    Observer { id: "service.https", observe: |d| Some(d.history.context.base_url.split(':').next()?.to_owned()) },
    Observer { id: "pet.status-default", observe: status_default },
    Observer { id: "pet.name-constraints", observe: |d| ambiguous(d, Ambiguity::Name, "an unusual name") },
    Observer { id: "pet.categories", observe: |d| ambiguous(d, Ambiguity::Category, "another category") },
    Observer { id: "pet.extra-members", observe: extra_members },
    Observer { id: "pet.status-transitions", observe: transitions },
    Observer { id: "list.limit-out-of-range", observe: limit_out_of_range },
    Observer { id: "list.unknown-status", observe: unknown_status },
    Observer { id: "list.order", observe: order },
    Observer { id: "list.pagination", observe: pagination },
    Observer { id: "create.unknown-members", observe: |d| ambiguous(d, Ambiguity::UnknownMember, "an unknown member") },
    Observer { id: "create.client-id", observe: |d| ambiguous(d, Ambiguity::ClientId, "an id in the body") },
    Observer { id: "create.null-status", observe: |d| ambiguous(d, Ambiguity::NullStatus, "status null") },
    Observer { id: "create.integral-number", observe: |d| ambiguous(d, Ambiguity::IntegralNumber, "7.0 for 7") },
    Observer { id: "create.content-type", observe: content_type },
    Observer { id: "get.malformed-id-status", observe: malformed_id_status },
    Observer { id: "orders.answer", observe: orders },
    Observer { id: "auth.challenge", observe: challenge },
    Observer { id: "auth.scheme-case", observe: scheme_case },
    Observer { id: "errors.codes", observe: codes },
    Observer { id: "headers.window", observe: window },
    Observer { id: "headers.refused-count", observe: refused_count },
    Observer { id: "headers.anonymous", observe: anonymous },
    Observer { id: "quota.retry-after-form", observe: retry_after_form },
    Observer { id: "quota.body", observe: limited_body },
    Observer { id: "versioning.deprecation-signals", observe: deprecation_signals },
    Observer { id: "client.removed-operation", observe: removed_operation },
    Observer { id: "client.deprecated-operation", observe: deprecated_operation },
];

/// The distinct items, joined; none if there are no items.
fn distinct(items: impl Iterator<Item = String>) -> Option<String> {
    let items: BTreeSet<String> = items.collect();
    (!items.is_empty()).then(|| items.into_iter().collect::<Vec<_>>().join("; "))
}

/// The distinct choices that single exchanges show, joined.
fn of_each(facts: &Facts<'_>, choice: impl FnMut(&Entry<'_>) -> Option<String>) -> Option<String> {
    distinct(facts.history.entries.iter().filter_map(choice))
}

/// The responses to creations whose only ambiguity was this one.
fn ambiguous(&Facts { history, .. }: &Facts<'_>, ambiguity: Ambiguity, what: &str) -> Option<String> {
    distinct(
        history
            .creates()
            .filter(|(_, body)| matches!(body, CreateBody::NewPet(_, ambiguities) if *ambiguities == [ambiguity]))
            .filter_map(|(entry, _)| keyed_status(entry))
            .map(|status| if status == 201 { format!("{what} is accepted") } else { format!("{what} gets {status}") }),
    )
}

/// The status code of a response to a valid key, unless it is 429.
fn keyed_status(entry: &Entry<'_>) -> Option<u16> {
    entry.status().filter(|_| entry.is_admitted())
}

fn status_default(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let omits_status = |creation: &&Creation| match &history.entries[creation.entry].operation {
        Operation::Create(CreateBody::NewPet(draft, ambiguities)) => {
            draft.status.is_none() && !ambiguities.contains(&Ambiguity::NullStatus)
        }
        _ => false,
    };
    distinct(history.creations.iter().filter(omits_status).filter_map(|creation| {
        let created = &history.entries[creation.entry];
        let later = history.entries.iter().filter(|entry| created.precedes(entry));
        let shown = later.flat_map(|entry| entry.animals_with(creation.id)).find_map(Animal::status);
        Some(match created.animals().first()?.0.get("status") {
            None => match shown {
                Some(status) => format!("absent from the 201, and {status} in later reads"),
                None => "stays absent".to_owned(),
            },
            Some(Json::String(status)) => format!("becomes {status}"),
            Some(other) => format!("becomes {}", other.kind()),
        })
    }))
}

fn extra_members(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let known = ["id", "name", "categoryId", "status"];
    let mut shown = history.entries.iter().flat_map(Entry::animals).peekable();
    shown.peek()?;
    let members = shown.flat_map(|animal| if let Json::Object(members) = animal.0 { members.as_slice() } else { &[] });
    let extra = members.map(|(name, _)| name.clone()).filter(|name| !known.contains(&name.as_str()));
    Some(distinct(extra).unwrap_or_else(|| "none".to_owned()))
}

/// The most values that are named for one treatment of limits.
const NAMED: usize = 4;

fn limit_out_of_range(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let mut treatments: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (entry, query) in history.lists() {
        let Parameter::Ambiguous(text) = &query.limit else { continue };
        let Some(status) = keyed_status(entry) else { continue };
        let treatment = if status == 200 { counted(entry).to_string() } else { status.to_string() };
        treatments.entry(treatment).or_default().insert(text);
    }
    distinct(treatments.into_iter().map(|(treatment, texts)| {
        let mut texts: Vec<&str> = texts.into_iter().collect();
        texts.sort_by_key(|text| text.len());
        let named = texts.iter().take(NAMED).map(|text| format!("limit={text}")).collect::<Vec<_>>().join(", ");
        match texts.len().saturating_sub(NAMED) {
            0 => format!("{named} gets {treatment}"),
            others => format!("{named} and {others} others get {treatment}"),
        }
    }))
}

fn unknown_status(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    distinct(history.lists().filter_map(|(entry, query)| {
        let Parameter::Ambiguous(_) = &query.status else { return None };
        let status = keyed_status(entry)?;
        Some(if status == 200 { format!("200 with {}", counted(entry)) } else { status.to_string() })
    }))
}

fn order(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    // Only animals that this run created count, one after the other: their order of creation is known.
    let (mut rising, mut falling) = (0, 0);
    for (entry, _) in history.lists() {
        let creation = |animal: &Animal<'_>| Some(&history.entries[history.creation(animal.id()?)?.entry]);
        let made: Vec<&Entry<'_>> = entry.animals().iter().filter_map(creation).collect();
        for pair in made.windows(2) {
            rising += usize::from(pair[0].precedes(pair[1]));
            falling += usize::from(pair[1].precedes(pair[0]));
        }
    }
    // A single pair stands in some order by chance.
    match (rising, falling) {
        _ if rising + falling < 2 => None,
        (_, 0) => Some("oldest first".to_owned()),
        (0, _) => Some("newest first".to_owned()),
        _ => Some("neither oldest nor newest first".to_owned()),
    }
}

fn pagination(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let mut listed = history.lists().filter(|(entry, _)| entry.status() == Some(200)).peekable();
    listed.peek()?;
    let hints = ["link", "x-next-cursor", "x-next-page", "x-total-count", "content-range"];
    let found = listed.filter_map(|(entry, _)| entry.response()).flat_map(|response| {
        hints.iter().filter(|hint| response.header(hint).is_some()).map(|hint| format!("a {hint} header"))
    });
    Some(distinct(found).unwrap_or_else(|| "none observed".to_owned()))
}

fn content_type(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    distinct(history.creates().filter(|(_, body)| **body == CreateBody::OtherMedia).filter_map(|(entry, _)| {
        let media_type = entry.exchange.request.body.as_ref().map_or("none", |body| body.content_type.as_str());
        Some(format!("{media_type} gets {}", keyed_status(entry)?))
    }))
}

fn malformed_id_status(facts: &Facts<'_>) -> Option<String> {
    let is_malformed = |entry: &Entry<'_>| entry.operation == Operation::Get(PetId::NotInt64);
    of_each(facts, |entry| keyed_status(entry).filter(|_| is_malformed(entry)).map(|status| status.to_string()))
}

fn orders(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let status = keyed_status(entry).filter(|_| entry.operation == Operation::Orders)?;
        Some(match entry.value() {
            Some(Json::Array(items)) if items.is_empty() => format!("{status} with an empty array"),
            Some(json) => format!("{status} with {}", json.kind()),
            None => format!("{status} without JSON"),
        })
    })
}

fn challenge(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let response = entry.response().filter(|response| response.status == 401)?;
        let challenge = response.header("www-authenticate").map(|challenge| format!("WWW-Authenticate: {challenge}"));
        Some(challenge.unwrap_or_else(|| "none".to_owned()))
    })
}

fn scheme_case(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let (scheme, token) = entry.exchange.request.authorization.as_deref()?.split_once(' ')?;
        let is_of_another_case = scheme != "Bearer" && token.trim() == token;
        match entry.status().filter(|_| matches!(entry.credential, Credential::Ambiguous(_)) && is_of_another_case)? {
            401 => Some("only the spelling `Bearer` is accepted".to_owned()),
            200..=299 => Some("`Bearer` is accepted in any case".to_owned()),
            _ => None,
        }
    })
}

fn codes(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let status = entry.status().filter(|status| (400..=599).contains(status))?;
        Some(format!("{status} {}", entry.value()?.get("code")?.as_str()?))
    })
}

fn transitions(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let changes = history.entries.iter().flat_map(|entry| {
        entry.animals().into_iter().filter_map(move |animal| {
            let id = animal.id().filter(|id| history.has_changed(*id, entry))?;
            let (_, created) = history.known(id, entry)?;
            Some(format!("{} becomes {}", created.status()?, animal.status()?))
        })
    });
    distinct(changes)
}

/// The responses to the main key that report a window.
fn answers<'f>(facts: &'f Facts<'_>) -> &'f [Answer<'f>] {
    facts.limiter.key(0).map_or(&[][..], KeyLimits::answers)
}

fn window(facts: &Facts<'_>) -> Option<String> {
    let windows = answers(facts).iter().filter_map(|answer| Some((answer.window, answer.ahead()?)));
    distinct(windows.map(|(window, ahead)| {
        let is_day = ahead > Tolerance::LONGEST_MINUTE.seconds();
        let (unit, length, full) = if is_day {
            ("day", Tolerance::DAY, "at midnight UTC")
        } else {
            ("minute", Tolerance::MINUTE, "at a full minute")
        };
        let start = if window.reset % length.seconds() == 0 { full } else { "at another time" };
        format!("{} per {unit}, beginning {start}", window.limit)
    }))
}

fn refused_count(facts: &Facts<'_>) -> Option<String> {
    // The pattern is success, error, success: Remaining falls by two if the error counts, otherwise by one.
    distinct(answers(facts).windows(3).filter_map(|three| {
        let [first, error, last] = [three[0], three[1], three[2]];
        let (before, after) = (first.window, last.window);
        let failed = matches!(error.entry.status(), Some(400 | 404));
        if !before.is_same(after) || !first.entry.succeeded() || !failed || !last.entry.succeeded() {
            return None;
        }
        match before.remaining.checked_sub(after.remaining) {
            Some(1) => Some("failed requests do not count".to_owned()),
            Some(2) => Some("failed requests count".to_owned()),
            _ => None,
        }
    }))
}

fn anonymous(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let is_refused = entry.credential.is_invalid() && entry.status() == Some(401);
        Some(format!("Limit {}", entry.rate.as_ref().filter(|_| is_refused)?.limit.integer()?))
    })
}

fn retry_after_form(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let form = match entry.retry_after().filter(|_| entry.status() == Some(429))? {
            RetryAfter::Seconds(_) => "whole seconds",
            RetryAfter::Date(_) => "an HTTP-date",
        };
        let left = entry.window().map(|window| window.reset - entry.answered_at().as_second());
        let longest = left.map(|left| left.max(0) + Tolerance::LONGER_WAIT.seconds());
        let is_longer = entry.wait_asked_for().zip(longest).is_some_and(|(wait, longest)| wait.as_secs() > longest);
        Some(format!("{form}{}", if is_longer { ", longer than until Reset" } else { "" }))
    })
}

fn limited_body(facts: &Facts<'_>) -> Option<String> {
    of_each(facts, |entry| {
        let body = match &entry.json {
            None => "empty",
            Some(Ok(json)) if json.get("code").is_some() => "an Error",
            Some(Ok(json)) => json.kind(),
            Some(Err(_)) => "not JSON",
        };
        (entry.status() == Some(429)).then(|| body.to_owned())
    })
}

fn deprecation_signals(&Facts { history, .. }: &Facts<'_>) -> Option<String> {
    let mut got = history.gets().filter(|(entry, _)| entry.status() == Some(200)).peekable();
    if let Some((gone, _)) = history.gets().find(|(entry, _)| entry.status() == Some(410)) {
        return Some(answered(gone).to_string());
    }
    got.peek()?;
    let signals = got.filter_map(|(entry, _)| entry.response()).flat_map(|response| {
        ["sunset", "deprecation", "link", "warning"]
            .into_iter()
            .filter_map(|name| Some(format!("{name}: {}", response.header(name)?)))
    });
    Some(distinct(signals).unwrap_or_else(|| "none".to_owned()))
}

/// The number of calls of `GET /pets/{petId}` after a 410 that says that it is gone, in words. Before the day of removal, a 410 is about
/// the requested animal.
fn removed_operation(facts: &Facts<'_>) -> Option<String> {
    let history = facts.history;
    let mut calls = history.gets().map(|(entry, _)| entry);
    calls.find(|entry| entry.status() == Some(410) && history.era(entry) != Era::Before)?;
    Some(format!("{} calls after it was gone", calls.count()))
}

/// The number of calls of `GET /pets/{petId}` by the client, in words.
fn deprecated_operation(facts: &Facts<'_>) -> Option<String> {
    let calls = facts.history.gets().count();
    (calls > 0).then(|| format!("{calls} of {} requests", facts.history.entries.len()))
}

#[cfg(test)]
mod tests;
