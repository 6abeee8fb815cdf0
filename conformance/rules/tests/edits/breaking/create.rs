//! Creations that are refused although valid, accepted although faulty, or answered with another animal.

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Fault, Operation};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Response;
use serde_json::{Value, json};

use super::Breaking;
use crate::tools::{animals, answer, created, each, edit, json_of, last, places, refuse, sent, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "create.success",
        name: "a valid body gets 200",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, valid, |response| response.status = 200),
    },
    Breaking {
        rule: "create.success",
        name: "a valid body gets 409",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, valid, |response| refuse(response, 409)),
    },
    Breaking {
        rule: "create.success",
        name: "a valid body is refused, and the animal is there all the same",
        trace: "pro",
        also: &[("create.refused-stores-nothing", "later lists show it")],
        apply: |trace| {
            let at = places(trace, valid)[0];
            refuse(answer(&mut trace.exchanges[at]), 400);
        },
    },
    Breaking {
        rule: "create.success",
        name: "an unknown member gets 422",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, |entry| created(entry) && sent(entry, "colour"), |response| refuse(response, 422)),
    },
    Breaking {
        rule: "create.echo",
        name: "a category loses its last digit for good",
        trace: "free",
        also: &[],
        apply: |trace| {
            each(
                trace,
                |entry| !entry.animals().is_empty(),
                |response| {
                    let text =
                        String::from_utf8_lossy(&response.body).replace("-9007199254740993", "-9007199254740992");
                    response.body = text.into_bytes();
                },
            );
        },
    },
    Breaking {
        rule: "create.echo",
        name: "a 201 leaves the status out",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| valid(entry) && sent(entry, "\"status\""),
                |response| {
                    edit(response, |pet| drop(pet.as_object_mut().map(|pet| pet.remove("status"))));
                },
            );
        },
    },
    Breaking {
        rule: "create.echo",
        name: "names are stored in capitals",
        trace: "odd",
        also: &[],
        apply: |trace| {
            each(
                trace,
                |entry| !entry.animals().is_empty(),
                |response| {
                    edit(response, |value| {
                        for pet in animals(value) {
                            pet["name"] = json!(pet["name"].as_str().expect("a name").to_uppercase());
                        }
                    });
                },
            );
        },
    },
    Breaking {
        rule: "create.assigned-id",
        name: "the client's id is honoured",
        trace: "pro",
        also: &[],
        apply: honour_id,
    },
    Breaking {
        rule: "create.assigned-id",
        name: "a 201 has no id",
        trace: "free",
        also: &[("pet.members", "an animal without id is none")],
        apply: |trace| {
            last(trace, valid, |response| edit(response, |pet| drop(pet.as_object_mut().map(|pet| pet.remove("id")))));
        },
    },
    Breaking {
        rule: "create.name-required",
        name: "a body without name makes an animal",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| at_fault(entry, Fault::NameMissing), accept),
    },
    Breaking {
        rule: "create.name-required",
        name: "a body without name gets 422",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::NameMissing), |response| refuse(response, 422)),
    },
    Breaking {
        rule: "create.category-required",
        name: "a body without categoryId makes an animal",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::CategoryMissing), accept),
    },
    Breaking {
        rule: "create.category-required",
        name: "a body without categoryId makes the server fail",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::CategoryMissing), |response| refuse(response, 500)),
    },
    Breaking {
        rule: "create.name-type",
        name: "null is taken for a name",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::NameType) && sent(entry, "\"name\":null"), accept),
    },
    Breaking {
        rule: "create.name-type",
        name: "a number for a name gets 422",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::NameType), |response| refuse(response, 422)),
    },
    Breaking {
        rule: "create.category-type",
        name: "a string is taken for a category",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::CategoryType) && sent(entry, "\"1\""), accept),
    },
    Breaking {
        rule: "create.category-type",
        name: "an array for a category is not found",
        trace: "day",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| only_fault(entry, Fault::CategoryType) && sent(entry, "[1]"),
                |response| refuse(response, 404),
            );
        },
    },
    Breaking {
        rule: "create.category-int64",
        name: "a category beyond int64 is wrapped",
        trace: "pro",
        also: &[],
        apply: |trace| {
            last(trace, |entry| only_fault(entry, Fault::CategoryRange) && sent(entry, "9223372036854775808"), accept);
        },
    },
    Breaking {
        rule: "create.category-int64",
        name: "a fraction is cut off",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::CategoryRange) && sent(entry, "1.5"), accept),
    },
    Breaking {
        rule: "create.status-enum",
        name: "a fourth status is dropped and the rest accepted",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| only_fault(entry, Fault::StatusEnum) && sent(entry, "lost"), accept),
    },
    Breaking {
        rule: "create.status-enum",
        name: "a status in capitals is unprocessable",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(
                trace,
                |entry| only_fault(entry, Fault::StatusEnum) && sent(entry, "SOLD"),
                |response| refuse(response, 422),
            );
        },
    },
    Breaking {
        rule: "create.body-required",
        name: "no body makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| {
            let nothing = |entry: &Entry<'_>| {
                at_fault(entry, Fault::NoObject)
                    && entry.exchange.request.body.as_ref().is_none_or(|body| body.bytes.is_empty())
            };
            last(trace, nothing, |response| refuse(response, 500));
        },
    },
    Breaking {
        rule: "create.body-required",
        name: "an array makes an animal",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| at_fault(entry, Fault::NoObject) && sent(entry, "["), accept),
    },
    Breaking {
        rule: "create.malformed-json",
        name: "what is no JSON makes the server fail",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, malformed, |response| refuse(response, 500)),
    },
    Breaking {
        rule: "create.malformed-json",
        name: "what is no JSON makes an animal",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, malformed, accept),
    },
    Breaking {
        rule: "create.extended-json",
        name: "a comma after the last member makes an animal",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, |entry| extended(entry) && sent(entry, ",}"), accept),
    },
    Breaking {
        rule: "create.extended-json",
        name: "noughts in front of a number make an animal",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, |entry| extended(entry) && sent(entry, ":007"), accept),
    },
];

/// A valid creation that was answered with the animal, and not fetched afterwards.
fn valid(entry: &Entry<'_>) -> bool {
    created(entry) && entry.operation.is_certainly_valid()
}

fn faults<'c>(entry: &'c Entry<'_>) -> &'c [Fault] {
    match &entry.operation {
        Operation::Create(CreateBody::Faulty(faults, _)) if entry.key().is_some() && entry.status() == Some(400) => {
            faults
        }
        _ => &[],
    }
}

fn at_fault(entry: &Entry<'_>, fault: Fault) -> bool {
    faults(entry).contains(&fault)
}

fn only_fault(entry: &Entry<'_>, fault: Fault) -> bool {
    faults(entry) == [fault]
}

fn extended(entry: &Entry<'_>) -> bool {
    entry.operation == Operation::Create(CreateBody::Extended) && entry.key().is_some() && entry.status() == Some(400)
}

fn malformed(entry: &Entry<'_>) -> bool {
    entry.operation == Operation::Create(CreateBody::Malformed) && entry.key().is_some() && entry.status() == Some(400)
}

/// Makes the answer that to a creation.
fn accept(response: &mut Response) {
    response.status = 201;
    set_json(response, &json!({"id": 888_888, "name": "Nobody", "categoryId": 1}));
}

fn honour_id(trace: &mut Trace) {
    let at = places(trace, |entry| created(entry) && sent(entry, "\"id\":"))[0];
    let exchange = &trace.exchanges[at];
    let asked: Value = serde_json::from_slice(&exchange.request.body.as_ref().expect("a body").bytes).expect("JSON");
    let given = exchange.response().and_then(json_of).expect("an animal")["id"].clone();
    each(
        trace,
        |entry| !entry.animals().is_empty(),
        |response| {
            edit(response, |value| {
                for pet in animals(value).into_iter().filter(|pet| pet["id"] == given) {
                    pet["id"] = asked["id"].clone();
                }
            });
        },
    );
}
