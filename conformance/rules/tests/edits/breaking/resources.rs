//! Animals that are malformed, wherever they are shown.

use animal_store_rules::history::Entry;
use animal_store_rules::trace::Trace;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{all, animals, answer, created, edit, fetched, json_of, last, listed_by, places, sent};

const OTHER_CATEGORY: (&str, &str) = ("list.agrees", "it is not the category of the creation");
const OTHER_NAME: (&str, &str) = ("list.agrees", "it is not the name of the creation");

const OWN_ID: (&str, &str) = ("list.agrees", "lists show it under an id of its own");

const NO_INTEGER: (&str, &str) = ("pet.int64", "a string is no int64");

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "pet.members",
        name: "a listed animal has no id",
        trace: "free",
        also: &[],
        apply: |trace| {
            with_first(trace, listed_by("limit=1"), |pet| drop(pet.as_object_mut().map(|pet| pet.remove("id"))));
        },
    },
    Breaking {
        rule: "pet.members",
        name: "a listed animal has no category",
        trace: "free",
        also: &[OTHER_CATEGORY],
        apply: |trace| {
            with_first(trace, listed_by("limit=100"), |pet| {
                drop(pet.as_object_mut().map(|pet| pet.remove("categoryId")));
            });
        },
    },
    Breaking {
        rule: "pet.members",
        name: "a name is null",
        trace: "odd",
        also: &[OTHER_NAME],
        apply: |trace| with_first(trace, listed_by("limit=100"), |pet| pet["name"] = Value::Null),
    },
    Breaking {
        rule: "pet.members",
        name: "a fetched animal has a string for its id",
        trace: "day",
        also: &[NO_INTEGER, ("get.success", "it is not the animal that was asked for")],
        apply: |trace| with_first(trace, fetched, |pet| pet["id"] = json!(pet["id"].to_string())),
    },
    Breaking {
        rule: "pet.members",
        name: "a created animal has a string for its category",
        trace: "pro",
        also: &[
            NO_INTEGER,
            ("create.echo", "it is not the category that was sent"),
            ("list.agrees", "lists show another one"),
            ("get.agrees", "and so do fetches"),
        ],
        // One that is listed and fetched afterwards.
        apply: |trace| {
            let long = |entry: &Entry<'_>| created(entry) && sent(entry, "          ");
            with_first(trace, long, |pet| pet["categoryId"] = json!("1"));
        },
    },
    Breaking {
        rule: "pet.int64",
        name: "an id is beyond int64",
        trace: "free",
        also: &[],
        apply: |trace| with_first(trace, listed_by("limit=1"), |pet| pet["id"] = json!(9_223_372_036_854_775_808_u64)),
    },
    Breaking {
        rule: "pet.int64",
        name: "a category has a fraction",
        trace: "pro",
        also: &[OTHER_CATEGORY],
        apply: |trace| with_first(trace, listed_by("limit=100"), |pet| pet["categoryId"] = json!(1.5)),
    },
    Breaking {
        rule: "pet.status-values",
        name: "an animal without a status is shown with null",
        trace: "free",
        also: &[],
        apply: |trace| without_status(trace, Value::Null),
    },
    Breaking {
        rule: "pet.status-values",
        name: "an animal without a status gets one of a fourth kind",
        trace: "pro",
        also: &[],
        apply: |trace| without_status(trace, json!("reserved")),
    },
    Breaking {
        rule: "pet.status-values",
        name: "statuses are numbers",
        trace: "day",
        also: &[],
        apply: |trace| without_status(trace, json!(1)),
    },
    Breaking {
        rule: "pet.status-values",
        name: "statuses are capitalised",
        trace: "odd",
        also: &[("list.agrees", "it is not the status of the creation")],
        apply: |trace| {
            all(trace, listed_by("limit=100"), |response| {
                edit(response, |value| {
                    let sold = animals(value).into_iter().filter(|pet| pet["status"] == json!("sold"));
                    sold.for_each(|pet| pet["status"] = json!("Sold"));
                });
            });
        },
    },
    Breaking {
        rule: "pet.unique-id",
        name: "two creations, one after the other, get one id",
        trace: "free",
        also: &[OWN_ID],
        apply: twins,
    },
    Breaking {
        rule: "pet.unique-id",
        name: "a creation gets the id of a listed animal",
        trace: "pro",
        also: &[OWN_ID],
        apply: |trace| {
            let listed = *places(trace, listed_by("limit=100")).first().expect("a list");
            let after = places(trace, |entry| created(entry) && entry.exchange.number > listed + 1);
            let ghost = json!({"id": 777_777, "name": "Ghost", "categoryId": 1});
            edit(answer(&mut trace.exchanges[listed]), |pets| pets.as_array_mut().expect("a list").push(ghost));
            edit(answer(&mut trace.exchanges[after[0]]), |pet| pet["id"] = json!(777_777));
        },
    },
];

/// Changes the first animal of the last answer that is picked.
fn with_first(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool, change: impl FnOnce(&mut Value)) {
    last(trace, pick, |response| edit(response, |value| change(animals(value).remove(0))));
}

/// Gives a status to one of the animals that were created and are listed without one.
fn without_status(trace: &mut Trace, status: Value) {
    last(trace, listed_by("limit=100"), |response| {
        edit(response, |value| {
            let pet = animals(value).into_iter().find(|pet| pet.get("status").is_none());
            pet.expect("an animal without a status")["status"] = status;
        });
    });
}

fn twins(trace: &mut Trace) {
    let places = places(trace, created);
    let [.., first, second] = places[..] else { panic!("two creations") };
    let body = trace.exchanges[first].response().and_then(json_of).expect("an animal");
    edit(answer(&mut trace.exchanges[second]), |pet| pet["id"] = body["id"].clone());
}
