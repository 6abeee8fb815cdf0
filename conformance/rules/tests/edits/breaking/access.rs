//! Keys that are refused although valid, and callers without one that are let in or get another status than 401.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Credential, Defect, Operation};
use animal_store_rules::trace::Trace;

use super::Breaking;
use crate::tools::{answer, last, listed_by, places, refuse};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("orders.exists", "store orders knows no GET", "odd", |trace| {
        let is_served = |entry: &Entry<'_>| entry.operation == Operation::Orders && entry.is_admitted();
        last(trace, is_served, |response| refuse(response, 405));
    }),
    Breaking::new("auth.valid-key", "a list refuses the key", "odd", |trace| {
        last(trace, listed_by("status=sold"), |response| refuse(response, 401));
    })
    .also(&[("list.success", "a lawful list is not answered with 200")]),
    Breaking::new("auth.missing-key", "lists need no key", "free", |trace| {
        let_in(trace, |entry| lacks(entry, Defect::Absent));
    }),
    Breaking::new("auth.invalid-key", "a made-up key gets a list", "pro", |trace| {
        let_in(trace, |entry| lacks(entry, Defect::Unknown));
    }),
    Breaking::new("auth.exact-key", "a key with something after it is taken", "day", |trace| {
        let_in(trace, |entry| lacks(entry, Defect::Inexact) && sent(entry).starts_with("Bearer sk-Recorded-Key-0001"));
    }),
    Breaking::new("auth.bearer-header", "a key without a scheme is taken", "free", |trace| {
        let_in(trace, |entry| is(entry, Defect::NotBearer) && sent(entry).starts_with("sk-"));
    }),
    Breaking::new(
        "auth.bearer-header",
        "the second of two Authorization fields is taken, a key under Basic",
        "free",
        |trace| let_in(trace, |entry| lacks(entry, Defect::Repeated)),
    ),
    Breaking::new("auth.before-all-else", "a media type is unsupported before the key is looked at", "free", |trace| {
        let is_of_other_media = |entry: &Entry<'_>| {
            let is_other = entry.operation == Operation::Create(CreateBody::OtherMedia);
            is_other && entry.credential.is_invalid() && !is(entry, Defect::NotBearer)
        };
        last(trace, is_of_other_media, |response| refuse(response, 415));
    }),
];

fn is(entry: &Entry<'_>, defect: Defect) -> bool {
    entry.credential == Credential::Invalid(defect)
}

/// A plain list that lacks a key in this way.
fn lacks(entry: &Entry<'_>, defect: Defect) -> bool {
    matches!(entry.operation, Operation::List(_)) && entry.exchange.request.query.is_none() && is(entry, defect)
}

/// The credential that was sent.
fn sent<'c>(entry: &Entry<'c>) -> &'c str {
    entry.exchange.request.authorization.as_deref().unwrap_or("")
}

/// Answers the last of the requests that are picked with a list: one that shows animals, since a list of none would leave them out.
fn let_in(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool) {
    let shows = |entry: &Entry<'_>| listed_by("")(entry) && !entry.animals().is_empty();
    let at = *places(trace, shows).first().expect("a list");
    let body = trace.exchanges[at].response().expect("an answer").body.clone();
    let at = *places(trace, pick).last().expect("there is nothing to edit");
    let response = answer(&mut trace.exchanges[at]);
    response.status = 200;
    response.body = body;
}
