//! Keys that are refused although valid, and callers without one that are let in or reported something else than 401.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Credential, Defect, Operation};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Connection;
use serde_json::json;

use super::Breaking;
use crate::tools::{answer, empty, keyed, last, limited, listed_by, places, refuse, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "orders.exists",
        name: "store orders is not found",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, orders, |response| refuse(response, 404)),
    },
    Breaking {
        rule: "orders.exists",
        name: "store orders knows no GET",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, orders, |response| refuse(response, 405)),
    },
    Breaking {
        rule: "auth.valid-key",
        name: "store orders refuses the key",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, orders, |response| refuse(response, 401));
        },
    },
    Breaking {
        rule: "auth.valid-key",
        name: "a list refuses the key",
        trace: "odd",
        also: &[("list.success", "a lawful list is not answered with 200")],
        apply: |trace| last(trace, listed_by("status=sold"), |response| refuse(response, 401)),
    },
    Breaking {
        rule: "auth.missing-key",
        name: "lists need no key",
        trace: "free",
        also: &[],
        apply: |trace| let_in(trace, |entry| lacks(entry, Defect::Absent)),
    },
    Breaking {
        rule: "auth.missing-key",
        name: "store orders without a key is forbidden",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| entry.operation == Operation::Orders && is(entry, Defect::Absent),
                |response| refuse(response, 403),
            );
        },
    },
    Breaking {
        rule: "auth.missing-key",
        name: "store orders needs no key",
        trace: "odd",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| entry.operation == Operation::Orders && is(entry, Defect::Absent),
                |response| {
                    response.status = 200;
                    set_json(response, &json!([]));
                },
            );
        },
    },
    Breaking {
        rule: "auth.missing-key",
        name: "a connection that was kept after a request with the key needs none",
        trace: "free",
        also: &[],
        apply: |trace| {
            as_with_the_key(trace, |entry| {
                let kept = entry.exchange.request.connection == Connection::Kept;
                kept && is(entry, Defect::Absent) && entry.operation.is_certainly_valid()
            });
        },
    },
    Breaking {
        rule: "auth.missing-key",
        name: "animals are listed without a key at /pets/",
        trace: "free",
        also: &[],
        apply: |trace| {
            let_in(trace, |entry| {
                let request = &entry.exchange.request;
                (request.method.as_str(), request.path.as_str()) == ("GET", "/pets/") && is(entry, Defect::Absent)
            });
        },
    },
    Breaking {
        rule: "auth.invalid-key",
        name: "a made-up key gets a list",
        trace: "pro",
        also: &[],
        apply: |trace| let_in(trace, |entry| lacks(entry, Defect::Unknown)),
    },
    Breaking {
        rule: "auth.invalid-key",
        name: "a made-up key is forbidden to fetch",
        trace: "free",
        also: &[],
        apply: |trace| {
            let fetch = |entry: &Entry<'_>| {
                matches!(entry.operation, Operation::Get(_))
                    && entry.operation.is_certainly_valid()
                    && is(entry, Defect::Unknown)
            };
            last(trace, fetch, |response| refuse(response, 403));
        },
    },
    Breaking {
        rule: "auth.exact-key",
        name: "a key without its end is enough",
        trace: "free",
        also: &[],
        apply: |trace| {
            let shortened = |entry: &Entry<'_>| credential(entry) == "Bearer sk-Recorded-Key-000";
            last(trace, shortened, |response| empty(response, 204));
        },
    },
    Breaking {
        rule: "auth.exact-key",
        name: "a key without its beginning is enough",
        trace: "odd",
        also: &[],
        apply: |trace| {
            let shortened = |entry: &Entry<'_>| credential(entry) == "Bearer k-Recorded-Key-0001";
            last(trace, shortened, |response| empty(response, 204));
        },
    },
    Breaking {
        rule: "auth.exact-key",
        name: "a key with something after it is taken",
        trace: "day",
        also: &[],
        apply: |trace| let_in(trace, |entry| lacks(entry, Defect::Inexact) && credential(entry).len() > 27),
    },
    Breaking {
        rule: "auth.exact-key",
        name: "a key in another case is taken",
        trace: "odd",
        also: &[],
        apply: |trace| let_in(trace, |entry| lacks(entry, Defect::Inexact) && credential(entry).len() == 27),
    },
    Breaking {
        rule: "auth.exact-key",
        name: "a key with another last letter is taken",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let_in(trace, |entry| {
                lacks(entry, Defect::Inexact)
                    && credential(entry).starts_with("Bearer sk-")
                    && credential(entry).len() == 27
            });
        },
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "a key without a scheme is taken",
        trace: "free",
        also: &[],
        apply: |trace| let_in(trace, |entry| is(entry, Defect::NotBearer) && credential(entry).starts_with("sk-")),
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "a key is taken by Basic authentication",
        trace: "odd",
        also: &[],
        apply: |trace| let_in(trace, |entry| is(entry, Defect::NotBearer) && credential(entry).starts_with("Basic ")),
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "a key is taken as the user of Basic authentication",
        trace: "free",
        also: &[],
        apply: |trace| {
            as_with_the_key(trace, |entry| {
                matches!(entry.operation, Operation::Get(_))
                    && is(entry, Defect::NotBearer)
                    && credential(entry).starts_with("Basic ")
            });
        },
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "the second of two Authorization fields is taken, a key under Basic",
        trace: "free",
        also: &[],
        apply: |trace| let_in(trace, |entry| lacks(entry, Defect::Repeated)),
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "a key is taken from the query",
        trace: "pro",
        also: &[],
        apply: |trace| let_in(trace, |entry| is(entry, Defect::NotBearer) && entry.exchange.request.query.is_some()),
    },
    Breaking {
        rule: "auth.bearer-header",
        name: "a key is taken from another header field",
        trace: "day",
        also: &[],
        apply: |trace| {
            let_in(trace, |entry| is(entry, Defect::NotBearer) && !entry.exchange.request.headers.is_empty());
        },
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "parameters are looked at before the key",
        trace: "free",
        also: &[],
        apply: |trace| unsound(trace, |operation| matches!(operation, Operation::List(_)), 400),
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "an id is looked at before the key",
        trace: "pro",
        also: &[],
        apply: |trace| unsound(trace, |operation| matches!(operation, Operation::Get(_)), 404),
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "a body is looked at before the key",
        trace: "odd",
        also: &[],
        apply: |trace| {
            let other_media = Operation::Create(CreateBody::OtherMedia);
            let with_body =
                |operation: &Operation| matches!(operation, Operation::Create(_)) && *operation != other_media;
            unsound(trace, with_body, 400);
        },
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "a media type is a bad request before the key is looked at",
        trace: "odd",
        also: &[],
        apply: |trace| unsound(trace, |operation| *operation == Operation::Create(CreateBody::OtherMedia), 400),
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "a media type is unsupported before the key is looked at",
        trace: "free",
        also: &[],
        apply: |trace| unsound(trace, |operation| *operation == Operation::Create(CreateBody::OtherMedia), 415),
    },
    Breaking {
        rule: "auth.before-all-else",
        name: "a caller without a key is refused for the rate, and has no allowance",
        trace: "free",
        also: &[],
        apply: |trace| {
            let sound = |entry: &Entry<'_>| is(entry, Defect::Absent) && entry.operation.is_certainly_valid();
            last(trace, sound, |response| refuse(response, 429));
        },
    },
];

fn orders(entry: &Entry<'_>) -> bool {
    entry.operation == Operation::Orders && entry.key().is_some() && !limited(entry)
}

fn is(entry: &Entry<'_>, defect: Defect) -> bool {
    entry.credential == Credential::Invalid(defect)
}

/// A plain list that lacks a key in this way.
fn lacks(entry: &Entry<'_>, defect: Defect) -> bool {
    matches!(entry.operation, Operation::List(_)) && entry.exchange.request.query.is_none() && is(entry, defect)
}

fn credential<'c>(entry: &Entry<'c>) -> &'c str {
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

/// Answers the requests that are picked as the same ones with the key were.
fn as_with_the_key(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool) {
    let picked = places(trace, pick);
    assert!(!picked.is_empty(), "there is nothing to edit");
    for at in picked {
        let target = trace.exchanges[at].request.target();
        let shown = places(trace, |entry| keyed(entry, 200) && entry.exchange.request.target() == target);
        let earlier = *shown.iter().rfind(|shown| **shown < at).expect("the same with the key");
        let body = trace.exchanges[earlier].response().expect("an answer").body.clone();
        let response = answer(&mut trace.exchanges[at]);
        response.status = 200;
        response.body = body;
    }
}

fn unsound(trace: &mut Trace, operation: impl Fn(&Operation) -> bool, status: u16) {
    let pick = |entry: &Entry<'_>| {
        entry.credential.is_invalid() && operation(&entry.operation) && !entry.operation.is_certainly_valid()
    };
    let unusual = |entry: &Entry<'_>| pick(entry) && !is(entry, Defect::NotBearer);
    last(trace, unusual, |response| refuse(response, status));
}
