//! Add an animal.

use serde_json::{Map, Value, json};

use super::{Fault, fault};
use crate::{Request, Response, ServerState};

pub(super) type Members = Map<String, Value>;

pub(super) fn faults() -> Vec<Fault> {
    [answers(), required(), leftovers()].into_iter().flatten().collect()
}

/// A fault that takes a faulty body for another one.
pub(super) fn lenient(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    edit: impl Fn(&mut Members) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).edit(move |request, _| request.edit_object(&edit))
}

/// A fault that refuses some bodies with another status.
pub(super) fn refusing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    which: impl Fn(&Request) -> bool + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |request, response, _| {
        if request.is_create() && response.status == 400 && which(request) {
            response.refuse(status);
        }
    })
}

fn lacks(request: &Request, member: &str) -> bool {
    request.object().is_some_and(|members| !members.contains_key(member))
}

fn answers() -> Vec<Fault> {
    vec![
        fault(
            "created-is-200",
            "A creation is answered with 200.",
            &["create.success"],
            "the status that a framework answers unless another one is set",
        )
        .after(|_, response, _| {
            if response.status == 201 {
                response.status = 200;
            }
        }),
        fault(
            "created-is-202",
            "A creation is answered with 202.",
            &["create.success"],
            "a queue in front of the database",
        )
        .after(|_, response, _| {
            if response.status == 201 {
                response.status = 202;
            }
        }),
        lenient(
            "status-required",
            "A creation without a status is refused.",
            &["create.success"],
            "an optional member that the schema calls required",
            |pet| {
                pet.entry("status").or_insert(Value::Null);
            },
        ),
        fault("title-case", "The 201 shows the name in capitals.", &["create.echo"], "names made pretty on the way in")
            .after(|request, response, _| {
                if request.is_create() {
                    response.edit_pets(|pet| {
                        let name = pet["name"].as_str().unwrap_or("").to_uppercase();
                        pet.insert("name".to_owned(), json!(name));
                    });
                }
            }),
        lenient(
            "capitalised",
            "The first letter of a name is made a capital.",
            &["create.echo"],
            "names that have to begin with a capital letter",
            |pet| {
                rename(pet, |name| {
                    let mut letters = name.chars();
                    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
                });
            },
        ),
        lenient(
            "as-from-a-form",
            "A plus sign in a name becomes a space.",
            &["create.echo"],
            "a decoder for forms that sees every body",
            |pet| {
                rename(pet, |name| name.replace('+', " "));
            },
        ),
        lenient(
            "escaped",
            "A quote in a name is doubled.",
            &["create.echo"],
            "quotes escaped for a language that is not spoken here",
            |pet| {
                rename(pet, |name| name.replace('\'', "''"));
            },
        ),
        fault(
            "bytes-as-letters",
            "Characters beyond ASCII in a name become several others.",
            &["create.echo"],
            "a body in UTF-8 that is read as Latin-1",
        )
        .edit(|request, _| {
            if !request.body.is_ascii() {
                request.edit_object(|pet| rename(pet, |name| name.bytes().map(char::from).collect()));
            }
        }),
        lenient(
            "single-blanks",
            "Several spaces in a name become one.",
            &["create.echo"],
            "blanks brought to one, as for a page",
            |pet| {
                rename(pet, |name| name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
            },
        ),
        fault(
            "long-names-crash",
            "A name of more than 255 characters is answered with 500.",
            &["create.success"],
            "a column of 255 characters",
        )
        .after(|request, response, _| {
            let name = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.chars().count()));
            if request.is_create() && name.is_some_and(|length| length > 255) {
                response.refuse(500);
            }
        }),
        fault(
            "categories-as-doubles",
            "Category ids beyond 2^53 are rounded.",
            &["create.echo"],
            "numbers that pass through a double",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                let rounded = pet["categoryId"].as_f64().unwrap_or(0.0) as i64;
                pet.insert("categoryId".to_owned(), json!(rounded));
            });
        }),
        lenient(
            "always-available",
            "A new animal is available, whatever status it is given.",
            &["create.echo"],
            "a status that is set after the members are",
            |pet| {
                if ["available", "pending", "sold"].iter().any(|status| pet.get("status") == Some(&json!(status))) {
                    pet.insert("status".to_owned(), json!("available"));
                }
            },
        ),
        fault(
            "clients-ids",
            "The 201 shows the id that the client sent.",
            &["create.assigned-id"],
            "the whole body bound to the record",
        )
        .after(|request, response, _| {
            if let Some(id) = request.object().and_then(|pet| pet.get("id")?.as_i64()) {
                response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(id))));
            }
        }),
        fault("echo-without-id", "The 201 has no id.", &["create.assigned-id"], "the request's body sent back").after(
            |_, response, _| {
                if response.status == 201 {
                    response.edit_pets(|pet| drop(pet.remove("id")));
                }
            },
        ),
        fault(
            "id-not-yet-known",
            "The 201 has the id null.",
            &["create.assigned-id"],
            "a record written out before it has its id",
        )
        .after(|_, response, _| {
            if response.status == 201 {
                response.edit_pets(|pet| drop(pet.insert("id".to_owned(), Value::Null)));
            }
        }),
    ]
}

/// Gives an animal that has a name another.
pub(super) fn rename(pet: &mut Members, change: impl Fn(&str) -> String) {
    if let Some(name) = pet.get("name").and_then(Value::as_str).map(change) {
        pet.insert("name".to_owned(), json!(name));
    }
}

fn required() -> Vec<Fault> {
    vec![
        lenient(
            "empty-is-default",
            "An empty object creates an animal.",
            &["create.name-required"],
            "an empty object from which a default animal is made",
            |pet| {
                if pet.is_empty() {
                    pet.insert("name".to_owned(), json!(""));
                    pet.insert("categoryId".to_owned(), json!(1));
                }
            },
        ),
        lenient(
            "name-defaults",
            "A body without a name creates an animal.",
            &["create.name-required"],
            "a missing string that is empty",
            |pet| {
                pet.entry("name").or_insert(json!(""));
            },
        ),
        refusing(
            "name-422",
            "A body without a name is answered with 422.",
            &["create.name-required"],
            "a framework whose validation answers 422",
            422,
            |request| lacks(request, "name"),
        ),
        refusing(
            "name-crash",
            "A body without a name is answered with 500.",
            &["create.name-required"],
            "a missing name that is used all the same",
            500,
            |request| lacks(request, "name"),
        ),
        lenient(
            "category-defaults",
            "A body without a category creates an animal.",
            &["create.category-required"],
            "a missing number that is nought",
            |pet| {
                pet.entry("categoryId").or_insert(json!(0));
            },
        ),
        refusing(
            "category-not-null",
            "A body without a category is answered with 500.",
            &["create.category-required"],
            "a missing member that only the database notices",
            500,
            |request| lacks(request, "categoryId"),
        ),
        refusing(
            "everything-422",
            "Every invalid body is answered with 422.",
            &["create.name-required", "create.category-required", "create.name-type", "create.category-type"],
            "a framework that answers every invalid body with 422",
            422,
            |_| true,
        ),
    ]
}

/// Keeps the animal that a creation names, although it was refused.
pub(super) fn keep(request: &Request, server: &ServerState) {
    if let Some(name) = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.to_owned())) {
        let mut memory = server.memory();
        let id = 900_000 + memory.ghosts.len() as i64;
        memory.ghosts.push(json!({"id": id, "name": name, "categoryId": 1, "status": "available"}));
    }
}

/// Lists the kept animals beside the animals that the reference lists.
pub(super) fn show_kept(request: &Request, response: &mut Response, server: &ServerState) {
    let limit = request.number_of("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(20);
    let wanted = request.parameter("status");
    let kept = server.memory().ghosts.clone();
    response.edit_list(request, |pets| {
        pets.splice(0..0, kept.into_iter().filter(|pet| wanted.is_none_or(|status| pet["status"] == status)));
        pets.truncate(limit);
    });
}

fn leftovers() -> Vec<Fault> {
    vec![
        fault(
            "stored-then-checked",
            "A creation that is refused with 400 stores the animal.",
            &["create.refused-stores-nothing"],
            "a row that is written before it is checked",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 400 {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
        fault(
            "status-checked-last",
            "A creation that is refused for its status stores the animal.",
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
