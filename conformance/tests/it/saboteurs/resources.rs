//! Resources and their fields: what an animal looks like.

use serde_json::{Value, json};

use super::{Saboteur, saboteur};

pub(super) fn saboteurs() -> Vec<Saboteur> {
    vec![
        saboteur("snake-case", &["pet.members"], "members named as the language names its fields").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    if let Some(category) = pet.remove("categoryId") {
                        pet.insert("category_id".to_owned(), category);
                    }
                });
            },
        ),
        saboteur("sparse-lists", &["pet.members"], "a list that shows a summary of each animal").after(
            |request, response, _| {
                if request.is_list() {
                    response.edit_pets(|pet| drop(pet.remove("categoryId")));
                }
            },
        ),
        saboteur("null-names", &["pet.members"], "a view that does not load the column of names").after(
            |request, response, _| {
                if request.is_get() {
                    response.edit_pets(|pet| drop(pet.insert("name".to_owned(), Value::Null)));
                }
            },
        ),
        saboteur("names-of-digits", &["pet.members"], "a column without a type, of which digits come back as a number")
            .after(|_, response, _| {
                response.edit_pets(|pet| {
                    if let Some(number) = pet["name"].as_str().and_then(|name| name.parse::<i64>().ok()) {
                        pet.insert("name".to_owned(), json!(number));
                    }
                });
            }),
        saboteur("string-ids", &["pet.members", "pet.int64"], "an encoder that writes int64 as strings").after(
            |_, response, _| response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(pet["id"].to_string())))),
        ),
        saboteur("wide-ids", &["pet.int64"], "ids of 64 bits without a sign").after(|_, response, _| {
            response.edit_pets(|pet| {
                let id = pet["id"].as_u64().unwrap_or(0);
                pet.insert("id".to_owned(), json!(id + (1 << 63)));
            });
        }),
        saboteur("fractional-ids", &["pet.int64"], "random numbers between nought and one for ids").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    let id = pet["id"].as_f64().unwrap_or(0.0);
                    pet.insert("id".to_owned(), json!(id + 0.5));
                });
            },
        ),
        saboteur("null-status", &["pet.status-values"], "an optional field that is written as null when it is empty")
            .after(|_, response, _| {
                response.edit_pets(|pet| {
                    pet.entry("status").or_insert(Value::Null);
                });
            }),
        saboteur("shouted-status", &["pet.status-values"], "enumeration constants printed by their names").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    if let Some(Value::String(status)) = pet.get_mut("status") {
                        *status = status.to_uppercase();
                    }
                });
            },
        ),
        saboteur("unknown-status", &["pet.status-values"], "a default that the enumeration does not have").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    pet.entry("status").or_insert(json!("unknown"));
                });
            },
        ),
        saboteur("ids-of-seconds", &["pet.unique-id"], "ids made of the time, told to the second").after(
            |request, response, server| {
                if request.is_create() {
                    response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(server.now()))));
                }
            },
        ),
        saboteur("ids-per-process", &["pet.unique-id"], "two processes that both count from one").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    let id = pet["id"].as_i64().unwrap_or(0);
                    pet.insert("id".to_owned(), json!((id + 1) / 2));
                });
            },
        ),
        saboteur("lost-updates", &["pet.unique-id"], "the largest id and one, read before another is written").after(
            |request, response, server| {
                // Only among the first, which are created one after the other: so every run shows the same.
                let shared = request.is_create() && response.status == 201 && matches!(server.count(), 4 | 8 | 12);
                response.edit_pets(|pet| {
                    let id = pet["id"].as_i64().unwrap_or(0);
                    if shared {
                        server.memory().ids.insert(id, id - 1);
                    }
                    let shown = server.memory().ids.get(&id).copied().unwrap_or(id);
                    pet.insert("id".to_owned(), json!(shown));
                });
            },
        ),
    ]
}
