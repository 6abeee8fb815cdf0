//! Resources and their fields: the members of an animal.

use serde_json::{Value, json};

use super::{Fault, fault};

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault(
            "snake-case",
            "The category is called category_id.",
            &["pet.members"],
            "members named as the language names its fields",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                if let Some(category) = pet.remove("categoryId") {
                    pet.insert("category_id".to_owned(), category);
                }
            });
        }),
        fault(
            "sparse-lists",
            "Listed animals have no categoryId.",
            &["pet.members"],
            "a list that shows a summary of each animal",
        )
        .after(|request, response, _| {
            if request.is_list() {
                response.edit_pets(|pet| drop(pet.remove("categoryId")));
            }
        }),
        fault(
            "null-names",
            "A fetched animal has the name null.",
            &["pet.members"],
            "a view that does not load the column of names",
        )
        .after(|request, response, _| {
            if request.is_get() {
                response.edit_pets(|pet| drop(pet.insert("name".to_owned(), Value::Null)));
            }
        }),
        fault(
            "names-of-digits",
            "A name of digits comes back as a number.",
            &["pet.members"],
            "a column without a type, of which digits come back as a number",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                if let Some(number) = pet["name"].as_str().and_then(|name| name.parse::<i64>().ok()) {
                    pet.insert("name".to_owned(), json!(number));
                }
            });
        }),
        fault(
            "string-ids",
            "Ids are strings.",
            &["pet.members", "pet.int64"],
            "an encoder that writes int64 as strings",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(pet["id"].to_string()))));
        }),
        fault("wide-ids", "Ids are larger than an int64.", &["pet.int64"], "ids of 64 bits without a sign").after(
            |_, response, _| {
                response.edit_pets(|pet| {
                    let id = pet["id"].as_u64().unwrap_or(0);
                    pet.insert("id".to_owned(), json!(id + (1 << 63)));
                });
            },
        ),
        fault(
            "fractional-ids",
            "Ids have a fraction.",
            &["pet.int64"],
            "random numbers between nought and one for ids",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                let id = pet["id"].as_f64().unwrap_or(0.0);
                pet.insert("id".to_owned(), json!(id + 0.5));
            });
        }),
        fault(
            "null-status",
            "An animal without a status has the status null.",
            &["pet.status-values"],
            "an optional field that is written as null when it is empty",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                pet.entry("status").or_insert(Value::Null);
            });
        }),
        fault(
            "shouted-status",
            "Statuses are written in capitals.",
            &["pet.status-values"],
            "enumeration constants printed by their names",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                if let Some(Value::String(status)) = pet.get_mut("status") {
                    *status = status.to_uppercase();
                }
            });
        }),
        fault(
            "unknown-status",
            "An animal without a status has the status unknown.",
            &["pet.status-values"],
            "a default that the enumeration does not have",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                pet.entry("status").or_insert(json!("unknown"));
            });
        }),
        fault(
            "ids-of-seconds",
            "Animals that are created in the same second have the same id.",
            &["pet.unique-id"],
            "ids made of the time in seconds",
        )
        .after(|request, response, server| {
            if request.is_create() {
                response.edit_pets(|pet| drop(pet.insert("id".to_owned(), json!(server.now()))));
            }
        }),
        fault(
            "ids-per-process",
            "Two animals at a time have the same id.",
            &["pet.unique-id"],
            "two processes that both count from one",
        )
        .after(|_, response, _| {
            response.edit_pets(|pet| {
                let id = pet["id"].as_i64().unwrap_or(0);
                pet.insert("id".to_owned(), json!((id + 1) / 2));
            });
        }),
        fault(
            "lost-updates",
            "Now and then a new animal has the id of the one before.",
            &["pet.unique-id"],
            "the largest id and one, read before another is written",
        )
        .after(|request, response, server| {
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
        }),
    ]
}
