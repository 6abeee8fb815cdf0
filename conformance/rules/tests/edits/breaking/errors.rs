//! Errors of another shape, with another status in the body, or under another label.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Operation};
use animal_store_rules::trace::exchange::Response;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{all, edit, keyed, last, remove, set, set_json};

const NO_LABEL: (&str, &str) = ("errors.media-type", "the label is another as well");

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "errors.shape",
        name: "404 has an empty body",
        trace: "free",
        also: &[NO_LABEL],
        apply: |trace| {
            last(
                trace,
                |entry| described(entry, 404),
                |response| {
                    response.body.clear();
                    remove(response, "content-type");
                },
            );
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "401 is a web page",
        trace: "pro",
        also: &[NO_LABEL],
        apply: |trace| {
            last(
                trace,
                |entry| described(entry, 401),
                |response| {
                    response.body = b"<h1>401</h1>".to_vec();
                    set(response, "content-type", "text/html");
                },
            );
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "errors have no code",
        trace: "odd",
        also: &[],
        apply: |trace| all(trace, |entry| described(entry, 400), |response| without(response, "code")),
    },
    Breaking {
        rule: "errors.shape",
        name: "a message is an object",
        trace: "day",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| described(entry, 401),
                |response| edit(response, |error| error["message"] = json!({"en": "No."})),
            );
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "the status is a string",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| described(entry, 400),
                |response| edit(response, |error| error["status"] = json!("400")),
            );
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "errors come in an array",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| described(entry, 404),
                |response| edit(response, |error| *error = json!([error.take()])),
            );
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "a plain 404 is labelled as gzip",
        trace: "odd",
        also: &[],
        apply: |trace| {
            last(trace, |entry| described(entry, 404), |response| set(response, "content-encoding", "gzip"));
        },
    },
    Breaking {
        rule: "errors.status-member",
        name: "404 says 400",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, |entry| described(entry, 404), |response| edit(response, |error| error["status"] = json!(400)));
        },
    },
    Breaking {
        rule: "errors.status-member",
        name: "every 401 says 403",
        trace: "odd",
        also: &[],
        apply: |trace| {
            all(trace, |entry| described(entry, 401), |response| edit(response, |error| error["status"] = json!(403)));
        },
    },
    Breaking {
        rule: "errors.media-type",
        name: "errors are problem documents",
        trace: "free",
        also: &[],
        apply: |trace| {
            all(
                trace,
                |entry| described(entry, 400),
                |response| set(response, "content-type", "application/problem+json"),
            );
        },
    },
    Breaking {
        rule: "errors.media-type",
        name: "a 404 has no label",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, |entry| described(entry, 404), |response| remove(response, "content-type")),
    },
    Breaking {
        rule: "errors.elsewhere",
        name: "an unknown path gets a web page",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| entry.operation == Operation::Elsewhere && keyed(entry, 404),
                |response| {
                    response.body = b"<h1>404</h1>".to_vec();
                },
            );
        },
    },
    Breaking {
        rule: "errors.elsewhere",
        name: "an unknown method gets JSON that is no Error",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, |entry| keyed(entry, 405), |response| set_json(response, &json!({"error": "method"})));
        },
    },
    Breaking {
        rule: "errors.shape",
        name: "a body is refused with a status that the tables do not list, and without an Error",
        trace: "day",
        also: &[],
        apply: |trace| {
            let other_media = Operation::Create(CreateBody::OtherMedia);
            let is_refused = |entry: &Entry<'_>| {
                entry.operation == other_media && entry.key().is_some() && matches!(entry.status(), Some(400..=415))
            };
            last(trace, is_refused, |response| {
                response.status = 415;
                set_json(response, &Value::Null);
            });
        },
    },
    Breaking {
        rule: "errors.elsewhere",
        name: "a removed operation has no Error",
        trace: "removed",
        also: &[],
        apply: |trace| last(trace, |entry| keyed(entry, 410), |response| without(response, "message")),
    },
    Breaking {
        rule: "errors.elsewhere",
        name: "a removed operation says 404 in its body",
        trace: "removed",
        also: &[],
        apply: |trace| {
            last(trace, |entry| keyed(entry, 410), |response| edit(response, |error| error["status"] = json!(404)));
        },
    },
];

/// An error of an operation.
fn described(entry: &Entry<'_>, status: u16) -> bool {
    entry.operation != Operation::Elsewhere && entry.status() == Some(status)
}

fn without(response: &mut Response, member: &str) {
    edit(response, |error| drop(error.as_object_mut().map(|error| error.remove(member))));
}
