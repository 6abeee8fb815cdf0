//! Refused creations that left an animal behind.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use serde_json::json;

use super::Breaking;
use crate::tools::{answer, edit, keyed, last, limited, listed_by, places, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "create.refused-stores-nothing",
        name: "a creation that got 400 is listed",
        trace: "free",
        also: &[],
        apply: |trace| list_what_was_sent(trace, |entry| keyed(entry, 400)),
    },
    Breaking {
        rule: "create.refused-stores-nothing",
        name: "a creation that got 400 is fetched",
        trace: "free",
        also: &[],
        apply: |trace| fetch_what_was_sent(trace, |entry| keyed(entry, 400)),
    },
    Breaking {
        rule: "auth.refused-stores-nothing",
        name: "a creation without a key is listed",
        trace: "free",
        also: &[],
        apply: |trace| list_what_was_sent(trace, |entry| entry.credential.is_invalid()),
    },
    Breaking {
        rule: "auth.refused-stores-nothing",
        name: "a creation without a key is fetched",
        trace: "free",
        also: &[],
        apply: |trace| fetch_what_was_sent(trace, |entry| entry.credential.is_invalid()),
    },
    Breaking {
        rule: "quota.refused-stores-nothing",
        name: "a creation over the limit is listed",
        trace: "free",
        also: &[],
        apply: |trace| list_what_was_sent(trace, limited),
    },
    Breaking {
        rule: "quota.refused-stores-nothing",
        name: "a creation over the limit is listed, by a server that lists at random",
        trace: "odd",
        also: &[],
        apply: |trace| list_what_was_sent(trace, limited),
    },
    Breaking {
        rule: "quota.refused-stores-nothing",
        name: "a creation over the limit is fetched",
        trace: "free",
        also: &[],
        apply: |trace| fetch_what_was_sent(trace, limited),
    },
];

/// The name of a creation that is picked.
fn name_of(trace: &Trace, pick: fn(&Entry<'_>) -> bool) -> String {
    let named = |entry: &Entry<'_>| match &entry.operation {
        Operation::Create(body) if pick(entry) => body.draft().and_then(|draft| draft.name.clone()).is_some(),
        _ => false,
    };
    let at = *places(trace, named).first().expect("a refused creation with a name");
    let body = trace.exchanges[at].request.body.as_ref().expect("a body");
    let body: serde_json::Value = serde_json::from_slice(&body.bytes).expect("JSON");
    body["name"].as_str().expect("a name").to_owned()
}

/// Shows the animal of a refused creation to whoever fetches an id that nobody has.
fn fetch_what_was_sent(trace: &mut Trace, pick: fn(&Entry<'_>) -> bool) {
    let name = name_of(trace, pick);
    let of_nobody = |entry: &Entry<'_>| keyed(entry, 404) && entry.exchange.request.path == "/pets/0";
    last(trace, of_nobody, |response| {
        response.status = 200;
        set_json(response, &json!({"id": 0, "name": name, "categoryId": 1}));
    });
}

/// Puts the animal of a refused creation into the last long list.
fn list_what_was_sent(trace: &mut Trace, pick: fn(&Entry<'_>) -> bool) {
    let name = name_of(trace, pick);
    let at = *places(trace, listed_by("limit=100")).last().expect("a list");
    edit(answer(&mut trace.exchanges[at]), |pets| {
        pets.as_array_mut().expect("a list").push(json!({"id": 666_666, "name": name, "categoryId": 1}));
    });
}
