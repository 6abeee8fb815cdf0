//! Fetches that miss an animal, find one that is not there, or show another.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{Operation, PetId};
use animal_store_rules::rules::broken;
use animal_store_rules::trace::Trace;
use serde_json::{Value, json};

use super::Breaking;
use crate::recording;
use crate::tools::{all, edit, fetched, keyed, last, places, refuse, set_json, settle};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "get.success",
        name: "an animal that was fetched before is not found",
        trace: "free",
        also: &[],
        apply: |trace| {
            settle(trace);
            last(trace, fetched, |response| refuse(response, 404));
        },
    },
    Breaking {
        rule: "get.success",
        name: "an animal's fetch makes the server fail",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, fetched, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "get.success",
        name: "another animal comes",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, fetched, |response| edit(response, |pet| pet["id"] = json!(4_711))),
    },
    Breaking {
        rule: "get.agrees",
        name: "a fetched animal has another category",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, fetched, |response| edit(response, |pet| pet["categoryId"] = json!(9_007))),
    },
    Breaking {
        rule: "get.agrees",
        name: "a fetched animal has another name",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, fetched, |response| edit(response, |pet| pet["name"] = json!("heron"))),
    },
    Breaking {
        rule: "get.agrees",
        name: "a fetched animal lost its status",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let has_status =
                |entry: &Entry<'_>| fetched(entry) && entry.value().is_some_and(|pet| pet.get("status").is_some());
            last(trace, has_status, |response| {
                edit(response, |pet| drop(pet.as_object_mut().map(|pet| pet.remove("status"))));
            });
        },
    },
    Breaking {
        rule: "get.not-found",
        name: "the largest id gets 400",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, asks_for_the_largest, |response| refuse(response, 400));
        },
    },
    Breaking {
        rule: "get.not-found",
        name: "nobody gets null",
        trace: "odd",
        also: &[("pet.members", "null is no animal")],
        apply: |trace| {
            last(trace, asks_for_the_largest, |response| {
                response.status = 200;
                set_json(response, &Value::Null);
            });
        },
    },
    Breaking {
        rule: "get.not-found",
        name: "every id gets an animal",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let asked = places(trace, asks_for_nobody);
            let ids = asked
                .into_iter()
                .filter_map(|at| trace.exchanges[at].request.path.strip_prefix("/pets/")?.parse().ok());
            let far: Vec<i64> = ids.filter(|id: &i64| id.unsigned_abs() > 1 << 40).collect();
            far.into_iter().for_each(|id| show_anybody(trace, id));
        },
    },
    Breaking {
        rule: "get.not-found",
        name: "unknown ids make the server fail",
        trace: "day",
        also: &[],
        apply: |trace| all(trace, asks_for_nobody, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "get.malformed-id",
        name: "what is no int64 makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, asks_with_no_int64, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "get.malformed-id",
        name: "what is no int64 gets 422",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, asks_with_no_int64, |response| refuse(response, 422)),
    },
    Breaking {
        rule: "get.malformed-id",
        name: "what is no int64 gets some animal",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, asks_with_no_int64, |response| {
                response.status = 200;
                set_json(response, &json!({"id": 123_456, "name": "Somebody", "categoryId": 1}));
            });
        },
    },
];

fn asks_for_nobody(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::Get(PetId::Int64(_))) && keyed(entry, 404)
}

fn asks_for_the_largest(entry: &Entry<'_>) -> bool {
    asks_for_nobody(entry) && entry.exchange.request.path == "/pets/9223372036854775807"
}

fn asks_with_no_int64(entry: &Entry<'_>) -> bool {
    entry.operation == Operation::Get(PetId::NotInt64) && (keyed(entry, 400) || keyed(entry, 404))
}

/// Gives an id that was tried, and that no animal has, an animal.
fn show_anybody(trace: &mut Trace, id: i64) {
    let path = format!("/pets/{id}");
    last(
        trace,
        |entry| asks_for_nobody(entry) && entry.exchange.request.path == path,
        |response| {
            response.status = 200;
            set_json(response, &json!({"id": id, "name": "Anybody", "categoryId": 1}));
        },
    );
}

// Those that exist from before may have any ids, and small ones are likely. Edits that give all animals other ids would move them.
#[test]
fn animals_around_nought_are_nobodys_fault() {
    let mut trace = recording::load("pro");
    show_anybody(&mut trace, 0);
    show_anybody(&mut trace, -2);
    assert!(broken(&trace).is_empty(), "{:?}", broken(&trace));
}
