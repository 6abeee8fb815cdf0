//! Lists with the wrong animals, too many of them, or too few.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Credential;
use animal_store_rules::trace::Trace;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{answer, edit, json_of, last, listed, listed_by, places, refuse, set_json, settle};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("list.success", "a key under `bearer` makes the server fail", "free", |trace| {
        last(trace, |entry| matches!(entry.credential, Credential::Ambiguous(_)), |response| refuse(response, 500));
    }),
    Breaking::new("list.array", "a list holds bare ids", "pro", |trace| {
        last(trace, listed_by("limit=1"), |response| edit(response, |pets| pets[0] = pets[0]["id"].take()));
    })
    .also(&[("pet.members", "what is listed is no animal")]),
    Breaking::new("list.limit-minimum", "limit=1 returns two", "odd", |trace| {
        borrow(trace, "limit=1", "limit=100", |pets| pets.truncate(2));
    })
    .also(&[("list.limit-honoured", "two are more than one")]),
    Breaking::new("list.limit-maximum", "limit=100 is refused", "pro", |trace| {
        last(trace, listed_by("limit=100"), |response| refuse(response, 400));
    })
    .also(&[("list.success", "a lawful list is not answered with 200")]),
    Breaking::new("list.limit-maximum", "limit=1000 returns 101", "pro", |trace| {
        let at = *places(trace, listed).last().expect("a list");
        trace.exchanges[at].request.query = Some("limit=1000".to_owned());
        let pets: Vec<Value> =
            (0..101).map(|number| json!({"id": 500_000 + number, "name": "Stock", "categoryId": 1})).collect();
        set_json(answer(&mut trace.exchanges[at]), &json!(pets));
    }),
    Breaking::new("list.limit-default", "without a limit 21 come back", "free", |trace| {
        borrow(trace, "", "limit=100", |pets| pets.truncate(21));
    }),
    Breaking::new("list.limit-default", "without a limit only 19 come back", "odd", |trace| {
        with_list(trace, "", |pets| pets.truncate(19));
    })
    .also(&[("list.complete", "there is room for one that is known")]),
    Breaking::new("list.status-filter", "an animal without a status is among them", "free", |trace| {
        add_from_all(trace, "status=pending&limit=100", |pet| pet.get("status").is_none());
    }),
    Breaking::new("list.complete", "a list with a status and a limit is one short of both", "day", |trace| {
        settle(trace);
        with_list(trace, "status=sold&limit=3", |pets| drop(pets.pop()));
    }),
    Breaking::new("list.unique", "an animal stands twice", "free", |trace| {
        with_list(trace, "limit=100", |pets| pets.push(pets[0].clone()));
    }),
    Breaking::new("list.agrees", "a listed animal lost its status", "pro", |trace| {
        with_list(trace, "limit=100", |pets| {
            let pet = pets.iter_mut().find(|pet| pet.get("status").is_some()).and_then(Value::as_object_mut);
            pet.expect("an animal with a status").remove("status");
        });
    }),
    Breaking::new("list.bad-parameters", "an unknown status is not found", "odd", |trace| {
        last(trace, listed_by("status=lost"), |response| refuse(response, 404));
    }),
];

/// Changes the last list with this query.
fn with_list(trace: &mut Trace, query: &str, change: impl FnOnce(&mut Vec<Value>)) {
    last(trace, listed_by(query), |response| edit(response, |pets| change(pets.as_array_mut().expect("a list"))));
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
