//! Refused creations that left an animal behind.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{answer, edit, limited, listed_by, places};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("auth.refused-stores-nothing", "a creation without a key is listed", "free", |trace| {
        list_what_was_sent(trace, |entry| entry.credential.is_invalid());
    }),
    Breaking::new("quota.refused-stores-nothing", "a creation over the limit is listed", "free", |trace| {
        list_what_was_sent(trace, limited);
    }),
];

/// Puts the animal of a refused creation into the last long list.
fn list_what_was_sent(trace: &mut Trace, pick: fn(&Entry<'_>) -> bool) {
    let named = |entry: &Entry<'_>| match &entry.operation {
        Operation::Create(body) if pick(entry) => body.draft().and_then(|draft| draft.name.clone()).is_some(),
        _ => false,
    };
    let at = *places(trace, named).first().expect("a refused creation with a name");
    let body = trace.exchanges[at].request.body.as_ref().expect("a body");
    let name = serde_json::from_slice::<Value>(&body.bytes).expect("JSON")["name"].clone();
    let at = *places(trace, listed_by("limit=100")).last().expect("a list");
    edit(answer(&mut trace.exchanges[at]), |pets| {
        pets.as_array_mut().expect("a list").push(json!({"id": 666_666, "name": name, "categoryId": 1}));
    });
}
