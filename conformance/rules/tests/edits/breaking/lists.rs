//! Lists with the wrong animals, too many of them, or too few.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{Credential, Operation};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Response;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{answer, edit, json_of, keyed, last, listed, listed_by, places, refuse, set_json, settle};

const NO_SUCCESS: (&str, &str) = ("list.success", "a lawful list is not answered with 200");
const NO_ANIMAL: (&str, &str) = ("pet.members", "what is listed is no animal");

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "list.success",
        name: "a filter is refused",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, listed_by("status=sold"), |response| refuse(response, 400)),
    },
    Breaking {
        rule: "list.success",
        name: "a filter with a limit is not found",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, listed_by("status=sold&limit=3"), |response| refuse(response, 404)),
    },
    Breaking {
        rule: "list.success",
        name: "a plain list makes the server fail",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, listed_by(""), |response| refuse(response, 500)),
    },
    Breaking {
        rule: "list.success",
        name: "a key under `bearer` makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, |entry| entry.credential == Credential::Ambiguous, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "list.array",
        name: "lists come in an envelope",
        trace: "free",
        also: &[],
        apply: |trace| {
            let items =
                |response: &mut Response| edit(response, |pets| *pets = json!({"items": pets.take(), "total": 3}));
            last(trace, listed_by("limit=100"), items);
        },
    },
    Breaking {
        rule: "list.array",
        name: "an empty result is null",
        trace: "day",
        also: &[],
        apply: |trace| {
            let empty = places(trace, |entry| listed(entry) && entry.animals().is_empty());
            set_json(answer(&mut trace.exchanges[empty[0]]), &Value::Null);
        },
    },
    Breaking {
        rule: "list.array",
        name: "a list holds bare ids",
        trace: "pro",
        also: &[NO_ANIMAL],
        apply: |trace| {
            last(trace, listed_by("limit=1"), |response| edit(response, |pets| pets[0] = pets[0]["id"].take()));
        },
    },
    Breaking {
        rule: "list.limit-minimum",
        name: "limit=1 is refused",
        trace: "free",
        also: &[NO_SUCCESS],
        apply: |trace| last(trace, listed_by("limit=1"), |response| refuse(response, 400)),
    },
    Breaking {
        rule: "list.limit-minimum",
        name: "limit=1 returns two",
        trace: "odd",
        also: &[("list.limit-honoured", "two are more than one")],
        apply: |trace| borrow(trace, "limit=1", "limit=100", |pets| pets.truncate(2)),
    },
    Breaking {
        rule: "list.limit-maximum",
        name: "limit=100 is refused",
        trace: "pro",
        also: &[NO_SUCCESS],
        apply: |trace| last(trace, listed_by("limit=100"), |response| refuse(response, 400)),
    },
    Breaking {
        rule: "list.limit-maximum",
        name: "limit=1000 returns 101",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let at = *places(trace, listed).last().expect("a list");
            trace.exchanges[at].request.query = Some("limit=1000".to_owned());
            let pets: Vec<Value> =
                (0..101).map(|number| json!({"id": 500_000 + number, "name": "Stock", "categoryId": 1})).collect();
            set_json(answer(&mut trace.exchanges[at]), &json!(pets));
        },
    },
    Breaking {
        rule: "list.limit-default",
        name: "without a limit 21 come back",
        trace: "free",
        also: &[],
        apply: |trace| borrow(trace, "", "limit=100", |pets| pets.truncate(21)),
    },
    Breaking {
        rule: "list.limit-default",
        name: "without a limit only 19 come back",
        trace: "odd",
        also: &[("list.complete", "there is room for one that is known")],
        apply: |trace| with_list(trace, "", |pets| pets.truncate(19)),
    },
    Breaking {
        rule: "list.limit-honoured",
        name: "limit=3 returns four",
        trace: "free",
        also: &[],
        apply: |trace| borrow(trace, "status=sold&limit=3", "status=sold", |pets| pets.truncate(4)),
    },
    Breaking {
        rule: "list.status-filter",
        name: "an animal with another status is among them",
        trace: "odd",
        also: &[],
        apply: |trace| add_from_all(trace, "status=pending", |pet| pet["status"] == "available"),
    },
    Breaking {
        rule: "list.status-filter",
        name: "an animal without a status is among them",
        trace: "free",
        also: &[],
        apply: |trace| add_from_all(trace, "status=pending&limit=100", |pet| pet.get("status").is_none()),
    },
    Breaking {
        rule: "list.status-filter",
        name: "a filter takes any case",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let sold = body_of(trace, "status=sold");
            last(
                trace,
                |entry| keyed(entry, 400) && query(entry) == "status=SOLD",
                |response| {
                    response.status = 200;
                    set_json(response, &sold);
                },
            );
        },
    },
    Breaking {
        rule: "list.complete",
        name: "an animal is left out",
        trace: "free",
        also: &[],
        apply: |trace| with_list(trace, "limit=100", |pets| drop(pets.pop())),
    },
    Breaking {
        rule: "list.complete",
        name: "the filter applies after the limit",
        trace: "pro",
        also: &[],
        apply: |trace| {
            settle(trace);
            with_list(trace, "status=sold", Vec::clear);
        },
    },
    Breaking {
        rule: "list.complete",
        name: "a list with a status and a limit is one short of both",
        trace: "day",
        also: &[],
        apply: |trace| {
            settle(trace);
            with_list(trace, "status=sold&limit=3", |pets| drop(pets.pop()));
        },
    },
    Breaking {
        rule: "list.unique",
        name: "an animal stands twice",
        trace: "free",
        also: &[],
        apply: |trace| with_list(trace, "limit=100", |pets| pets.push(pets[0].clone())),
    },
    Breaking {
        rule: "list.unique",
        name: "the first animal is also the last",
        trace: "odd",
        also: &[],
        apply: |trace| with_list(trace, "", |pets| pets[19] = pets[0].clone()),
    },
    Breaking {
        rule: "list.agrees",
        name: "a listed animal has another category",
        trace: "free",
        also: &[],
        apply: |trace| with_list(trace, "limit=100", |pets| pets[0]["categoryId"] = json!(2)),
    },
    Breaking {
        rule: "list.agrees",
        name: "a listed animal has another name",
        trace: "day",
        also: &[],
        apply: |trace| with_list(trace, "limit=1", |pets| pets[0]["name"] = json!("Heron")),
    },
    Breaking {
        rule: "list.agrees",
        name: "a listed animal lost its status",
        trace: "pro",
        also: &[],
        apply: |trace| {
            with_list(trace, "limit=100", |pets| {
                let pet = pets.iter_mut().find(|pet| pet.get("status").is_some()).and_then(Value::as_object_mut);
                pet.expect("an animal with a status").remove("status");
            });
        },
    },
    Breaking {
        rule: "list.agrees",
        name: "an animal is listed under a second id",
        trace: "free",
        also: &[],
        apply: |trace| {
            let mark = trace.context.name_mark.clone().expect("a mark");
            with_list(trace, "limit=100", |pets| {
                let is_own = |pet: &&Value| pet["name"].as_str().is_some_and(|name| name.contains(&mark));
                let mut again = pets.iter().find(is_own).expect("an animal of this run").clone();
                again["id"] = json!(777_777);
                pets.push(again);
            });
        },
    },
    Breaking {
        rule: "list.bad-parameters",
        name: "limit=0 makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, |entry| keyed(entry, 400) && query(entry) == "limit=0", |response| refuse(response, 500));
        },
    },
    Breaking {
        rule: "list.bad-parameters",
        name: "limit=ten gets 422",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, |entry| keyed(entry, 400) && query(entry) == "limit=ten", |response| refuse(response, 422));
        },
    },
    Breaking {
        rule: "list.bad-parameters",
        name: "an unknown status is not found",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, listed_by("status=lost"), |response| refuse(response, 404)),
    },
];

fn query<'c>(entry: &Entry<'c>) -> &'c str {
    let list = matches!(entry.operation, Operation::List(_));
    entry.exchange.request.query.as_deref().filter(|_| list).unwrap_or("")
}

/// Changes the last list with this query.
fn with_list(trace: &mut Trace, query: &str, change: impl FnOnce(&mut Vec<Value>)) {
    last(trace, listed_by(query), |response| edit(response, |pets| change(pets.as_array_mut().expect("a list"))));
}

/// The last list with this query.
fn body_of(trace: &Trace, query: &str) -> Value {
    let at = *places(trace, listed_by(query)).last().expect("a list");
    trace.exchanges[at].response().and_then(json_of).expect("a list")
}

/// Answers the last list with a query as that with another one, changed: as the last one before it that shows anything, if there is
/// one, because animals that were created later cannot be there.
fn borrow(trace: &mut Trace, query: &str, other: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let at = *places(trace, listed_by(query)).last().expect("a list");
    let shows = |entry: &Entry<'_>| listed_by(other)(entry) && !entry.animals().is_empty();
    let others = places(trace, shows);
    let other = *others.iter().rev().find(|other| **other < at).unwrap_or(&others[0]);
    let mut pets = trace.exchanges[other].response().and_then(json_of).expect("a list");
    change(pets.as_array_mut().expect("a list"));
    last(trace, listed_by(query), |response| set_json(response, &pets));
}

/// Puts a known animal into the last list with this query: one that a list before it shows, because another may have been created
/// later.
fn add_from_all(trace: &mut Trace, query: &str, pick: impl Fn(&Value) -> bool) {
    let at = *places(trace, listed_by(query)).last().expect("a list");
    let earlier = places(trace, |entry| listed_by("limit=100")(entry) && entry.exchange.number <= at);
    let all = *earlier.last().expect("a list before it");
    let Some(Value::Array(mut pets)) = trace.exchanges[all].response().and_then(json_of) else { panic!("a list") };
    pets.retain(pick);
    let pet = pets.pop().expect("an animal to add");
    with_list(trace, query, |pets| pets.push(pet));
}
