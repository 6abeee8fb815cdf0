//! Bodies that servers stumble over: of unusual length, with unusual characters, or with numbers in an unusual form.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{Ambiguity, CreateBody, Fault, Operation};
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{animals, created, each, edit, last, refuse, sent, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "create.category-int64",
        name: "a categoryId of 5,000 digits makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, has_many_digits, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "create.success",
        name: "a body of 65 KiB makes the server fail",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, refused_for_its_size, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "create.success",
        name: "a categoryId of 0 gets 422",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, created_despite(Ambiguity::Category, "\"categoryId\":0}"), |response| refuse(response, 422));
        },
    },
    Breaking {
        rule: "create.success",
        name: "a categoryId of 1.0 gets 422",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, created_despite(Ambiguity::IntegralNumber, ":1.0}"), |response| refuse(response, 422));
        },
    },
    Breaking {
        rule: "create.echo",
        name: "names end at the character NUL",
        trace: "free",
        also: &[],
        apply: |trace| {
            let shows_animals = |entry: &Entry<'_>| !entry.animals().is_empty();
            each(trace, shows_animals, |response| {
                edit(response, |value| animals(value).into_iter().for_each(end_name_at_nul));
            });
        },
    },
    Breaking {
        rule: "create.malformed-json",
        name: "half of a surrogate pair gets 200",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, has_half_a_pair, |response| response.status = 200),
    },
    Breaking {
        rule: "create.malformed-json",
        name: "half of a surrogate pair makes the server fail",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, has_half_a_pair, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "create.malformed-json",
        name: "an animal with something after it is created",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let is_followed = |entry: &Entry<'_>| is_refused(entry) && sent(entry, "} x");
            last(trace, is_followed, |response| {
                response.status = 201;
                set_json(response, &json!({"id": 888_888, "name": "Nobody", "categoryId": 1}));
            });
        },
    },
];

/// A creation with a valid key that was refused, and not for the rate.
fn is_refused(entry: &Entry<'_>) -> bool {
    let refused = matches!(entry.status(), Some(400..=499)) && entry.status() != Some(429);
    matches!(entry.operation, Operation::Create(_)) && entry.key().is_some() && refused
}

fn has_many_digits(entry: &Entry<'_>) -> bool {
    let Operation::Create(CreateBody::Faulty(faults, _)) = &entry.operation else { return false };
    is_refused(entry) && faults.contains(&Fault::CategoryDigits)
}

fn refused_for_its_size(entry: &Entry<'_>) -> bool {
    let Operation::Create(CreateBody::NewPet(_, ambiguities)) = &entry.operation else { return false };
    is_refused(entry) && ambiguities.contains(&Ambiguity::Size)
}

fn has_half_a_pair(entry: &Entry<'_>) -> bool {
    is_refused(entry) && entry.operation == Operation::Create(CreateBody::Unclear)
}

/// A creation that was answered with the animal, although it has this ambiguity and no other.
fn created_despite(ambiguity: Ambiguity, part: &str) -> impl Fn(&Entry<'_>) -> bool + '_ {
    move |entry| {
        let Operation::Create(CreateBody::NewPet(_, ambiguities)) = &entry.operation else { return false };
        created(entry) && *ambiguities == [ambiguity] && sent(entry, part)
    }
}

fn end_name_at_nul(pet: &mut Value) {
    let name = pet["name"].as_str().expect("a name");
    pet["name"] = json!(name.split('\0').next());
}
