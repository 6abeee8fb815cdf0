//! Add an animal.

use serde_json::{Map, Value, json};

use super::{Saboteur, saboteur};
use crate::layers::{Request, Response, ServerState};

type Members = Map<String, Value>;

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [answers(), required(), types(), statuses(), bodies(), leftovers()].into_iter().flatten().collect()
}

/// A saboteur that takes a faulty body for another one.
fn lenient(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    edit: impl Fn(&mut Members) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).edit(move |request, _| request.edit_object(&edit))
}

/// A saboteur that refuses some bodies with another status.
fn refusing(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    which: impl Fn(&Request) -> bool + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |request, response, _| {
        if request.is_create() && response.status == 400 && which(request) {
            response.refuse(status);
        }
    })
}

fn lacks(request: &Request, member: &str) -> bool {
    request.object().is_some_and(|members| !members.contains_key(member))
}

fn answers() -> Vec<Saboteur> {
    vec![
        saboteur("created-is-200", &["create.success"], "the status that a framework answers unless told otherwise")
            .after(|_, response, _| {
                if response.status == 201 {
                    response.status = 200;
                }
            }),
        saboteur("created-is-202", &["create.success"], "a queue in front of the database").after(|_, response, _| {
            if response.status == 201 {
                response.status = 202;
            }
        }),
        lenient("status-required", &["create.success"], "an optional member that the schema calls required", |pet| {
            pet.entry("status").or_insert(Value::Null);
        }),
        saboteur("title-case", &["create.echo"], "names made pretty on the way in").after(|request, response, _| {
            if request.is_create() {
                response.edit_pets(|pet| {
                    let name = pet["name"].as_str().unwrap_or("").to_uppercase();
                    pet.insert("name".to_owned(), json!(name));
                });
            }
        }),
        lenient("capitalised", &["create.echo"], "names that have to begin with a capital letter", |pet| {
            rename(pet, |name| {
                let mut letters = name.chars();
                letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
            });
        }),
        lenient("as-from-a-form", &["create.echo"], "a decoder for forms that sees every body", |pet| {
            rename(pet, |name| name.replace('+', " "));
        }),
        lenient("escaped", &["create.echo"], "quotes escaped for a language that is not spoken here", |pet| {
            rename(pet, |name| name.replace('\'', "''"));
        }),
        saboteur("bytes-as-letters", &["create.echo"], "a body in UTF-8 that is read as Latin-1").edit(|request, _| {
            if !request.body.is_ascii() {
                request.edit_object(|pet| rename(pet, |name| name.bytes().map(char::from).collect()));
            }
        }),
        lenient("single-blanks", &["create.echo"], "blanks brought to one, as for a page", |pet| {
            rename(pet, |name| name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
        }),
        saboteur("long-names-crash", &["create.success"], "a column of 255 characters").after(
            |request, response, _| {
                let name = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.chars().count()));
                if request.is_create() && name.is_some_and(|length| length > 255) {
                    response.refuse(500);
                }
            },
        ),
        saboteur("categories-as-doubles", &["create.echo"], "numbers that pass through a double").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    let rounded = pet["categoryId"].as_f64().unwrap_or(0.0) as i64;
                    pet.insert("categoryId".to_owned(), json!(rounded));
                });
            },
        ),
        lenient("always-available", &["create.echo"], "a status that is set after the members are", |pet| {
            if ["available", "pending", "sold"].iter().any(|status| pet.get("status") == Some(&json!(status))) {
                pet.insert("status".to_owned(), json!("available"));
            }
        }),
        saboteur("clients-ids", &["create.assigned-id"], "the whole body bound to the record").after(
            |request, response, _| {
                if let Some(id) = request.object().and_then(|pet| pet.get("id")?.as_i64()) {
                    response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(id))));
                }
            },
        ),
        saboteur("echo-without-id", &["create.assigned-id"], "the request's body sent back").after(|_, response, _| {
            if response.status == 201 {
                response.edit_pets(|pet| drop(pet.remove("id")));
            }
        }),
        saboteur("id-not-yet-known", &["create.assigned-id"], "a record written out before it has its id").after(
            |_, response, _| {
                if response.status == 201 {
                    response.edit_pets(|pet| drop(pet.insert("id".to_owned(), Value::Null)));
                }
            },
        ),
    ]
}

fn rename(pet: &mut Members, change: impl Fn(&str) -> String) {
    if let Some(name) = pet.get("name").and_then(Value::as_str).map(change) {
        pet.insert("name".to_owned(), json!(name));
    }
}

fn required() -> Vec<Saboteur> {
    vec![
        lenient(
            "empty-is-default",
            &["create.name-required"],
            "an empty object from which a default animal is made",
            |pet| {
                if pet.is_empty() {
                    pet.insert("name".to_owned(), json!(""));
                    pet.insert("categoryId".to_owned(), json!(1));
                }
            },
        ),
        lenient("name-defaults", &["create.name-required"], "a missing string that is empty", |pet| {
            pet.entry("name").or_insert(json!(""));
        }),
        refusing("name-422", &["create.name-required"], "a framework whose validation answers 422", 422, |request| {
            lacks(request, "name")
        }),
        refusing("name-crash", &["create.name-required"], "a missing name that is used all the same", 500, |request| {
            lacks(request, "name")
        }),
        lenient("category-defaults", &["create.category-required"], "a missing number that is nought", |pet| {
            pet.entry("categoryId").or_insert(json!(0));
        }),
        refusing(
            "category-not-null",
            &["create.category-required"],
            "a missing member that only the database notices",
            500,
            |request| lacks(request, "categoryId"),
        ),
        refusing(
            "everything-422",
            &["create.name-required", "create.category-required", "create.name-type", "create.category-type"],
            "a framework that answers every invalid body with 422",
            422,
            |_| true,
        ),
    ]
}

fn types() -> Vec<Saboteur> {
    vec![
        lenient("names-from-numbers", &["create.name-type"], "a mapper that makes strings of scalars", |pet| {
            if let Some(name @ (Value::Number(_) | Value::Bool(_))) = pet.get("name") {
                pet.insert("name".to_owned(), json!(name.to_string()));
            }
        }),
        lenient("null-is-a-name", &["create.name-type"], "a check that the member is there, not what it is", |pet| {
            if pet.get("name") == Some(&Value::Null) {
                pet.insert("name".to_owned(), json!("null"));
            }
        }),
        lenient("names-of-objects", &["create.name-type"], "whatever is there, printed", |pet| {
            if let Some(name @ (Value::Object(_) | Value::Array(_))) = pet.get("name") {
                pet.insert("name".to_owned(), json!(name.to_string()));
            }
        }),
        lenient(
            "numbers-from-strings",
            &["create.category-type"],
            "a mapper that reads numbers out of strings",
            |pet| {
                if let Some(number) = pet.get("categoryId").and_then(Value::as_str).and_then(|t| t.parse::<i64>().ok())
                {
                    pet.insert("categoryId".to_owned(), json!(number));
                }
            },
        ),
        lenient("true-is-one", &["create.category-type"], "a language in which true is a number", |pet| {
            if let Some(Value::Bool(yes)) = pet.get("categoryId") {
                pet.insert("categoryId".to_owned(), json!(i64::from(*yes)));
            }
        }),
        lenient("true-is-a-name", &["create.name-type"], "whatever is true, as text", |pet| {
            if pet.get("name") == Some(&Value::Bool(true)) {
                pet.insert("name".to_owned(), json!("true"));
            }
        }),
        lenient("empty-is-nought", &["create.category-type"], "an empty text that is nought as a number", |pet| {
            if pet.get("categoryId") == Some(&json!("")) {
                pet.insert("categoryId".to_owned(), json!(0));
            }
        }),
        lenient("null-is-nought", &["create.category-type"], "a primitive that cannot be null", |pet| {
            if pet.get("categoryId") == Some(&Value::Null) {
                pet.insert("categoryId".to_owned(), json!(0));
            }
        }),
        lenient("cut-fractions", &["create.category-int64"], "a cast that drops what follows the point", |pet| {
            if let Some(number) = pet.get("categoryId").and_then(Value::as_f64).filter(|n| n.fract() != 0.0) {
                pet.insert("categoryId".to_owned(), json!(number.trunc().to_string().parse::<i64>().unwrap_or(0)));
            }
        }),
        lenient("wraps-round", &["create.category-int64"], "arithmetic that wraps round", |pet| {
            if let Some(number) = pet.get("categoryId").and_then(Value::as_u64) {
                pet.insert("categoryId".to_owned(), json!(number.cast_signed()));
            }
        }),
        lenient("saturates", &["create.category-int64"], "numbers brought back to the nearest that fits", |pet| {
            if pet.get("categoryId").is_some_and(|c| c.is_number() && c.as_f64().is_some_and(|n| n.abs() > 9e18)) {
                let sign = pet["categoryId"].as_f64().unwrap_or(0.0).is_sign_negative();
                pet.insert("categoryId".to_owned(), json!(if sign { i64::MIN } else { i64::MAX }));
            }
        }),
    ]
}

fn statuses() -> Vec<Saboteur> {
    let lower = |pet: &Members| pet.get("status").and_then(Value::as_str).map(str::to_lowercase);
    vec![
        lenient("any-case-status", &["create.status-enum"], "enumerations read without regard to case", move |pet| {
            if let Some(status) = lower(pet) {
                pet.insert("status".to_owned(), json!(status));
            }
        }),
        lenient(
            "true-is-available",
            &["create.status-enum"],
            "whatever is true, taken for the first constant",
            |pet| {
                if pet.get("status") == Some(&Value::Bool(true)) {
                    pet.insert("status".to_owned(), json!("available"));
                }
            },
        ),
        lenient("unknown-status-is-none", &["create.status-enum"], "an unknown constant that becomes none", |pet| {
            if pet.get("status").is_some_and(|s| !["available", "pending", "sold"].iter().any(|known| s == known)) {
                pet.remove("status");
            }
        }),
        lenient("status-by-number", &["create.status-enum"], "enumerations that may be given by their number", |pet| {
            if let Some(Value::Number(_)) = pet.get("status") {
                pet.insert("status".to_owned(), json!("available"));
            }
        }),
        lenient("one-status-of-many", &["create.status-enum"], "the first of a list where one value is meant", |pet| {
            if let Some(Value::Array(statuses)) = pet.get("status") {
                pet.insert("status".to_owned(), statuses.first().cloned().unwrap_or_default());
            }
        }),
    ]
}

fn bodies() -> Vec<Saboteur> {
    let is_malformed = |request: &Request| !request.body.is_empty() && request.json().is_none();
    vec![
        refusing(
            "empty-crash",
            &["create.body-required"],
            "a body that is used before it is looked at",
            500,
            |request| request.body.is_empty(),
        ),
        refusing("empty-is-unsupported", &["create.body-required"], "no body, and so no label: 415", 415, |request| {
            request.body.is_empty()
        }),
        refusing("null-crash", &["create.body-required"], "null where an object is expected", 500, |request| {
            request.json() == Some(Value::Null)
        }),
        saboteur("first-of-an-array", &["create.body-required"], "a bulk operation that was left in").edit(
            |request, _| {
                if let Some(Value::Array(pets)) = request.json().filter(|_| request.is_create())
                    && let Some(first) = pets.into_iter().next()
                {
                    request.set_json(first);
                }
            },
        ),
        refusing(
            "parser-crash",
            &["create.malformed-json"],
            "a parser's exception that nobody catches",
            500,
            is_malformed,
        ),
        saboteur("mends-json", &["create.malformed-json"], "a parser that closes what was left open").edit(
            move |request, _| {
                if request.is_create() && is_malformed(request) {
                    request.body.push(b'}');
                }
            },
        ),
    ]
}

/// Keeps the animal that a creation names, although it was refused.
pub(super) fn keep(request: &Request, server: &ServerState) {
    if let Some(name) = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.to_owned())) {
        let mut memory = server.memory();
        let id = 900_000 + i64::try_from(memory.ghosts.len()).expect("few");
        memory.ghosts.push(json!({"id": id, "name": name, "categoryId": 1, "status": "available"}));
    }
}

/// Lists what was kept beside what the reference lists.
pub(super) fn show_kept(request: &Request, response: &mut Response, server: &ServerState) {
    let limit = request.number_of("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(20);
    let wanted = request.parameter("status");
    let kept = server.memory().ghosts.clone();
    response.edit_list(request, |pets| {
        pets.splice(0..0, kept.into_iter().filter(|pet| wanted.is_none_or(|status| pet["status"] == status)));
        pets.truncate(limit);
    });
}

fn leftovers() -> Vec<Saboteur> {
    vec![
        saboteur(
            "stored-then-checked",
            &["create.refused-stores-nothing"],
            "a row that is written before it is checked",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 400 {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
        saboteur(
            "status-checked-last",
            &["create.refused-stores-nothing"],
            "a second statement that fails, without a transaction around both",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 400 && !lacks(request, "status") {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
    ]
}
