//! Animals that are malformed, wherever they are shown.

use animal_store_rules::history::Entry;
use animal_store_rules::trace::Trace;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{animals, answer, created, edit, json_of, last, listed_by, places, sent};

const OWN_ID: (&str, &str) = ("list.agrees", "lists show it under an id of its own");

pub(super) const EDITS: &[Breaking] = &[
    // One that is listed and fetched afterwards.
    Breaking::new("pet.members", "a created animal has a string for its category", "pro", |trace| {
        let long = |entry: &Entry<'_>| created(entry) && sent(entry, "          ");
        with_first(trace, long, |pet| pet["categoryId"] = json!("1"));
    })
    .also(&[
        ("pet.int64", "a string is no int64"),
        ("create.echo", "it is not the category that was sent"),
        ("list.agrees", "lists show another one"),
        ("get.agrees", "and so do fetches"),
    ]),
    Breaking::new("pet.int64", "a category has a fraction", "pro", |trace| {
        with_first(trace, listed_by("limit=100"), |pet| pet["categoryId"] = json!(1.5));
    })
    .also(&[("list.agrees", "it is not the category of the creation")]),
    Breaking::new("pet.status-values", "statuses are numbers", "day", |trace| {
        last(trace, listed_by("limit=100"), |response| {
            edit(response, |value| {
                let pet = animals(value).into_iter().find(|pet| pet.get("status").is_none());
                pet.expect("an animal without a status")["status"] = json!(1);
            });
        });
    }),
    Breaking::new("pet.unique-id", "two creations, one after the other, get one id", "free", |trace| {
        let places = places(trace, created);
        let [.., first, second] = places[..] else { panic!("two creations") };
        let body = trace.exchanges[first].response().and_then(json_of).expect("an animal");
        edit(answer(&mut trace.exchanges[second]), |pet| pet["id"] = body["id"].clone());
    })
    .also(&[OWN_ID]),
    Breaking::new("pet.unique-id", "a creation gets the id of a listed animal", "pro", |trace| {
        let listed = *places(trace, listed_by("limit=100")).first().expect("a list");
        let after = places(trace, |entry| created(entry) && entry.exchange.number > listed + 1);
        let ghost = json!({"id": 777_777, "name": "Ghost", "categoryId": 1});
        edit(answer(&mut trace.exchanges[listed]), |pets| pets.as_array_mut().expect("a list").push(ghost));
        edit(answer(&mut trace.exchanges[after[0]]), |pet| pet["id"] = json!(777_777));
    })
    .also(&[OWN_ID]),
];

/// Changes the first animal of the last answer that is picked.
fn with_first(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool, change: impl FnOnce(&mut Value)) {
    last(trace, pick, |response| edit(response, |value| change(animals(value).remove(0))));
}
