//! Errors of another shape, with another status in the body, or under another label.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Operation};
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{all, edit, keyed, last, remove, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("errors.shape", "errors come in an array", "pro", |trace| {
        last(trace, |entry| described(entry, 404), |response| edit(response, |error| *error = json!([error.take()])));
    }),
    Breaking::new("errors.status-member", "every 401 says 403", "odd", |trace| {
        all(trace, |entry| described(entry, 401), |response| edit(response, |error| error["status"] = json!(403)));
    }),
    Breaking::new("errors.media-type", "a 404 has no label", "day", |trace| {
        last(trace, |entry| described(entry, 404), |response| remove(response, "content-type"));
    }),
    Breaking::new(
        "errors.shape",
        "a body is refused with a status that the tables do not list, and without an Error",
        "day",
        |trace| {
            let other_media = Operation::Create(CreateBody::OtherMedia);
            let is_refused = |entry: &Entry<'_>| {
                entry.operation == other_media && entry.key().is_some() && matches!(entry.status(), Some(400..=415))
            };
            last(trace, is_refused, |response| {
                response.status = 415;
                set_json(response, &Value::Null);
            });
        },
    ),
    Breaking::new("errors.elsewhere", "a removed operation has no Error", "removed", |trace| {
        last(
            trace,
            |entry| keyed(entry, 410),
            |response| {
                edit(response, |error| drop(error.as_object_mut().map(|error| error.remove("message"))));
            },
        );
    }),
    Breaking::new("errors.elsewhere", "a removed operation says 404 in its body", "removed", |trace| {
        last(trace, |entry| keyed(entry, 410), |response| edit(response, |error| error["status"] = json!(404)));
    }),
];

/// An error of an operation.
fn described(entry: &Entry<'_>, status: u16) -> bool {
    entry.operation != Operation::Elsewhere && entry.status() == Some(status)
}
