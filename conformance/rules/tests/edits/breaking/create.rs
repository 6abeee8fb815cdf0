//! Creations that are refused although valid, accepted although faulty, or answered with another animal.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Fault, Operation};
use animal_store_rules::trace::exchange::Response;
use serde_json::json;

use super::Breaking;
use crate::tools::{answer, created, edit, last, places, refuse, sent, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("create.success", "a valid body is refused, and the animal is there all the same", "pro", |trace| {
        let at = places(trace, valid)[0];
        refuse(answer(&mut trace.exchanges[at]), 400);
    })
    .also(&[("create.refused-stores-nothing", "later lists show it")]),
    Breaking::new("create.success", "an unknown member gets 422", "odd", |trace| {
        last(trace, |entry| created(entry) && sent(entry, "colour"), |response| refuse(response, 422));
    }),
    Breaking::new("create.assigned-id", "a 201 has no id", "free", |trace| {
        last(trace, valid, |response| edit(response, |pet| drop(pet.as_object_mut().map(|pet| pet.remove("id")))));
    })
    .also(&[("pet.members", "an animal without id is none")]),
    Breaking::new("create.name-required", "a body without name gets 422", "free", |trace| {
        last(trace, |entry| has_only(entry, Fault::NameMissing), |response| refuse(response, 422));
    }),
    Breaking::new("create.category-required", "a body without categoryId makes the server fail", "odd", |trace| {
        last(trace, |entry| has_only(entry, Fault::CategoryMissing), |response| refuse(response, 500));
    }),
    Breaking::new("create.name-type", "a number for a name gets 422", "free", |trace| {
        last(trace, |entry| has_only(entry, Fault::NameType), |response| refuse(response, 422));
    }),
    Breaking::new("create.category-type", "an array for a category is not found", "day", |trace| {
        let is_array = |entry: &Entry<'_>| has_only(entry, Fault::CategoryType) && sent(entry, "[1]");
        last(trace, is_array, |response| refuse(response, 404));
    }),
    Breaking::new("create.category-int64", "a fraction is cut off", "pro", |trace| {
        last(trace, |entry| has_only(entry, Fault::CategoryRange) && sent(entry, "1.5"), accept);
    }),
    Breaking::new("create.status-enum", "a status in capitals is unprocessable", "free", |trace| {
        let is_shouted = |entry: &Entry<'_>| has_only(entry, Fault::StatusEnum) && sent(entry, "SOLD");
        last(trace, is_shouted, |response| refuse(response, 422));
    }),
    Breaking::new("create.body-required", "an array makes an animal", "pro", |trace| {
        last(trace, |entry| has_only(entry, Fault::NoObject) && sent(entry, "["), accept);
    }),
    Breaking::new("create.extended-json", "a comma after the last member makes an animal", "pro", |trace| {
        last(trace, |entry| is_refused(entry, &CreateBody::Extended) && sent(entry, ",}"), accept);
    }),
    Breaking::new("create.malformed-json", "half of a surrogate pair gets 200", "free", |trace| {
        last(trace, |entry| is_refused(entry, &CreateBody::Unclear), |response| response.status = 200);
    }),
];

/// A valid creation that was answered with the animal, and not fetched afterwards.
fn valid(entry: &Entry<'_>) -> bool {
    created(entry) && entry.operation.is_certainly_valid()
}

/// A creation that was refused for this fault alone.
fn has_only(entry: &Entry<'_>, fault: Fault) -> bool {
    let Operation::Create(CreateBody::Faulty(faults, _)) = &entry.operation else { return false };
    entry.key().is_some() && entry.status() == Some(400) && *faults == [fault]
}

/// A creation with this body that was refused, and not for the rate.
fn is_refused(entry: &Entry<'_>, body: &CreateBody) -> bool {
    let is_of_body = matches!(&entry.operation, Operation::Create(sent) if sent == body);
    is_of_body && entry.key().is_some() && matches!(entry.status(), Some(400..=428))
}

/// Makes the answer that to a creation.
fn accept(response: &mut Response) {
    response.status = 201;
    set_json(response, &json!({"id": 888_888, "name": "Nobody", "categoryId": 1}));
}
