//! Answers that are none, and successes that are no JSON.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Connection, Failure, FailureKind, Outcome};

use super::Breaking;
use crate::tools::{all, created, fetched, last, listed, listed_by, places, remove, set};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "service.complete-answer",
        name: "a connection is dropped",
        trace: "free",
        also: &[],
        apply: |trace| fail(trace, FailureKind::Broken, |entry| entry.operation == Operation::Orders),
    },
    Breaking {
        rule: "service.complete-answer",
        name: "a creation is not answered in time",
        trace: "odd",
        also: &[],
        apply: |trace| fail(trace, FailureKind::Timeout, created),
    },
    Breaking {
        rule: "service.complete-answer",
        name: "two requests on connections that were kept get nothing",
        trace: "free",
        also: &[],
        apply: |trace| {
            for _ in 0..2 {
                fail(trace, FailureKind::Broken, |entry| entry.exchange.request.connection == Connection::Kept);
            }
        },
    },
    Breaking {
        rule: "service.complete-answer",
        name: "a list goes on for ever",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, listed, |response| {
                response.cut = true;
                response.headers.retain(|(name, _)| name != "content-length");
            });
        },
    },
    Breaking {
        rule: "service.json",
        name: "lists are labelled as text",
        trace: "free",
        also: &[],
        apply: |trace| all(trace, listed, |response| set(response, "content-type", "text/plain")),
    },
    Breaking {
        rule: "service.json",
        name: "a 201 has no label",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, created, |response| remove(response, "content-type")),
    },
    Breaking {
        rule: "service.json",
        name: "a list ends in the middle",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, listed_by("limit=100"), |response| response.body.truncate(response.body.len() / 2)),
    },
    Breaking {
        rule: "service.json",
        name: "an empty result is an empty body",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, listed_by("status=lost"), |response| response.body.clear()),
    },
    Breaking {
        rule: "service.json",
        name: "a plain list is labelled as gzip",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, listed, |response| set(response, "content-encoding", "gzip")),
    },
    Breaking {
        rule: "service.json",
        name: "a fetched animal is not UTF-8",
        trace: "free",
        also: &[("get.success", "what cannot be read shows no animal")],
        apply: |trace| {
            last(trace, fetched, |response| {
                let quote = response.body.iter().position(|byte| *byte == b'"').expect("a member");
                response.body.insert(quote + 1, 0xff);
            });
        },
    },
];

fn fail(trace: &mut Trace, kind: FailureKind, pick: fn(&Entry<'_>) -> bool) {
    let picked = places(trace, |entry| pick(entry) && entry.succeeded() && entry.key().is_some());
    let at = *picked.last().expect("there is nothing to edit");
    trace.exchanges[at].outcome = Outcome::Failed(Failure { kind, detail: "no answer".to_owned() });
}
