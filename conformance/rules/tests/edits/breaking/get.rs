//! Fetches that miss an animal, find one that is not there, or show another.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{Operation, PetId};
use serde_json::json;

use super::Breaking;
use crate::tools::{edit, fetched, keyed, last, refuse};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("get.success", "an animal's fetch makes the server fail", "pro", |trace| {
        last(trace, fetched, |response| refuse(response, 500));
    }),
    Breaking::new("get.success", "another animal comes", "odd", |trace| {
        last(trace, fetched, |response| edit(response, |pet| pet["id"] = json!(4_711)));
    }),
    Breaking::new("get.agrees", "a fetched animal has another category", "free", |trace| {
        last(trace, fetched, |response| edit(response, |pet| pet["categoryId"] = json!(9_007)));
    }),
    Breaking::new("get.not-found", "the largest id gets 400", "free", |trace| {
        let asks_for_the_largest =
            |entry: &Entry<'_>| keyed(entry, 404) && entry.exchange.request.path == "/pets/9223372036854775807";
        last(trace, asks_for_the_largest, |response| refuse(response, 400));
    }),
    Breaking::new("get.malformed-id", "what is no int64 gets 422", "odd", |trace| {
        let asks_with_no_int64 = |entry: &Entry<'_>| {
            entry.operation == Operation::Get(PetId::NotInt64) && (keyed(entry, 400) || keyed(entry, 404))
        };
        last(trace, asks_with_no_int64, |response| refuse(response, 422));
    }),
];
