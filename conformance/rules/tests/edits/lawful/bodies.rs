//! The same answers in other bodies: order, spelling, vocabulary, further members, other ids.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_rules::history::Entry;
use animal_store_rules::request::{Operation, PetId};
use animal_store_rules::trace::Trace;
use fastrand::Rng;
use serde_json::{Value, json};

use super::Lawful;
use crate::tools::{animals, each, json_of, places, set};

pub(super) const EDITS: &[Lawful] = &[
    Lawful { name: "lists come in random order", hides: None, apply: shuffle },
    Lawful { name: "members come in the reverse order", hides: None, apply: |trace, _| rewrite(trace, reversed) },
    Lawful {
        name: "bodies are pretty-printed",
        hides: None,
        apply: |trace, _| rewrite(trace, |json| format!("{json:#}\n")),
    },
    Lawful { name: "every character of a string is escaped", hides: None, apply: |trace, _| rewrite(trace, escaped) },
    Lawful {
        name: "errors have other codes",
        hides: None,
        apply: |trace, random| errors(trace, "code", random, &["", "E-17", "gone fishing"]),
    },
    Lawful {
        name: "messages are in another language",
        hides: None,
        apply: |trace, random| {
            errors(trace, "message", random, &["", "Der Schlüssel fehlt.", "鍵がありません", "<b>\u{1b}[1m&"]);
        },
    },
    Lawful { name: "animals have further members", hides: None, apply: further_members_of_animals },
    Lawful { name: "errors have further members", hides: None, apply: further_members_of_errors },
    Lawful { name: "the media type has parameters and capitals", hides: None, apply: label },
    Lawful { name: "animals have other ids", hides: None, apply: renumber_animals },
];

fn has_json(entry: &Entry<'_>) -> bool {
    entry.value().is_some()
}

fn has_error(entry: &Entry<'_>) -> bool {
    entry.value().is_some_and(|value| value.get("code").is_some())
}

fn has_animals(entry: &Entry<'_>) -> bool {
    !entry.animals().is_empty()
}

/// Writes every JSON body in another way.
fn rewrite(trace: &mut Trace, write: fn(&Value) -> String) {
    each(trace, has_json, |response| {
        let value = json_of(response).expect("picked for its JSON");
        response.body = write(&value).into_bytes();
    });
}

/// Changes every JSON body that is picked.
fn change(trace: &mut Trace, pick: fn(&Entry<'_>) -> bool, mut change: impl FnMut(&mut Value)) {
    each(trace, pick, |response| {
        let mut value = json_of(response).expect("picked for its JSON");
        change(&mut value);
        response.body = value.to_string().into_bytes();
    });
}

fn shuffle(trace: &mut Trace, random: &mut Rng) {
    change(trace, has_json, |value| {
        if let Value::Array(items) = value {
            random.shuffle(items);
        }
    });
}

fn reversed(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let members = members.iter().rev().map(|(name, value)| format!("{}:{}", json!(name), reversed(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn escaped(value: &Value) -> String {
    let escape = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(text) => escape(text),
        Value::Array(items) => format!("[{}]", items.iter().map(escaped).collect::<Vec<_>>().join(" , ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}\t: {}", escape(name), escaped(value)));
            format!("\n{{{}}}", members.collect::<Vec<_>>().join(",\r\n"))
        }
        other => other.to_string(),
    }
}

fn errors(trace: &mut Trace, member: &str, random: &mut Rng, texts: &[&str]) {
    change(trace, has_error, |error| error[member] = json!(random.choice(texts)));
}

fn further_members_of_animals(trace: &mut Trace, random: &mut Rng) {
    change(trace, has_animals, |value| {
        for pet in animals(value) {
            pet["createdAt"] = json!("2026-06-01T12:00:00Z");
            pet["category"] = json!({"id": pet["categoryId"], "name": null});
            pet["tags"] = json!([{"id": random.i64(..)}, [[]], 1.5, true]);
        }
    });
}

fn further_members_of_errors(trace: &mut Trace, _: &mut Rng) {
    change(trace, has_error, |error| {
        error["errors"] = json!([{"code": 17, "field": "name", "status": "bad"}]);
        error["requestId"] = json!("01J0");
    });
}

fn label(trace: &mut Trace, random: &mut Rng) {
    const LABELS: [&str; 4] = [
        "application/json; charset=utf-8",
        "Application/JSON;charset=\"UTF-8\"",
        "application/json ;v=1",
        "application/json",
    ];
    each(trace, has_json, |response| {
        let label = random.choice(LABELS).expect("there are four");
        set(response, "content-type", label);
    });
}

/// Gives every animal another id, anywhere in int64, and asks for it by that.
fn renumber_animals(trace: &mut Trace, random: &mut Rng) {
    let id = |pet: &Value| pet["id"].as_i64();
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    let mut known: BTreeSet<i64> = BTreeSet::new();
    for at in places(trace, has_animals) {
        let mut body = trace.exchanges[at].response().and_then(json_of).expect("animals are JSON");
        known.extend(animals(&mut body).into_iter().filter_map(|pet| id(pet)));
    }
    // Ids that were asked for in vain, or sent by the client, belong to nobody.
    for exchange in &trace.exchanges {
        taken.extend(exchange.request.path.strip_prefix("/pets/").and_then(|id| id.parse::<i64>().ok()));
        let body = exchange.request.body.as_ref().and_then(|body| serde_json::from_slice::<Value>(&body.bytes).ok());
        taken.extend(body.as_ref().and_then(|body| body.get("id")?.as_i64()));
    }
    let mut numbers = BTreeMap::new();
    for old in known {
        let new = std::iter::repeat_with(|| random.i64(..)).find(|new| taken.insert(*new)).expect("int64 is large");
        numbers.insert(old, new);
    }
    let asks = places(trace, |entry| matches!(entry.operation, Operation::Get(PetId::Int64(_))));
    for at in asks {
        let path = &mut trace.exchanges[at].request.path;
        let old: i64 = path["/pets/".len()..].parse().expect("picked for its id");
        if let Some(new) = numbers.get(&old) {
            *path = format!("/pets/{new}");
        }
    }
    change(trace, has_animals, |value| {
        for pet in animals(value) {
            if let Some(new) = id(pet).and_then(|old| numbers.get(&old)) {
                pet["id"] = json!(new);
            }
        }
    });
}
