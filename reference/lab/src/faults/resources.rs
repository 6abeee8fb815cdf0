//! Resources and their fields: the members of an animal.

use serde_json::Value;

use super::{Fault, change, fault, set, set_missing};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("snake-case", &["pet.members"])
            .does("The category is called category_id.")
            .like("members named as the language names its fields")
            .shows(|pet| {
                if let Some(category) = pet.remove("categoryId") {
                    set(pet, "category_id", category);
                }
            }),
        fault("sparse-lists", &["pet.members"])
            .does("Listed animals have no categoryId.")
            .like("a list that shows a summary of each animal")
            .shows_in(Request::is_list, |pet| drop(pet.remove("categoryId"))),
        fault("null-names", &["pet.members"])
            .does("A fetched animal has the name null.")
            .like("a view that does not load the column of names")
            .shows_in(Request::is_get, |pet| set(pet, "name", Value::Null)),
        fault("names-of-digits", &["pet.members"])
            .does("A name of digits comes back as a number.")
            .like("a column without a type, of which digits come back as a number")
            .shows(|pet| {
                if let Some(number) = pet["name"].as_str().and_then(|name| name.parse::<i64>().ok()) {
                    set(pet, "name", number);
                }
            }),
        fault("string-ids", &["pet.members", "pet.int64"])
            .does("Ids are strings.")
            .like("an encoder that writes int64 as strings")
            .shows(|pet| change(pet, "id", |id| Some(id.to_string().into()))),
        fault("wide-ids", &["pet.int64"])
            .does("Ids are larger than an int64.")
            .like("ids of 64 bits without a sign")
            .shows(|pet| change(pet, "id", |id| Some((id.as_u64()? + (1 << 63)).into()))),
        fault("fractional-ids", &["pet.int64"])
            .does("Ids have a fraction.")
            .like("random numbers between zero and one for ids")
            .shows(|pet| change(pet, "id", |id| Some((id.as_f64()? + 0.5).into()))),
        fault("null-status", &["pet.status-values"])
            .does("An animal without a status has the status null.")
            .like("an optional field that is written as null when it is empty")
            .shows(|pet| set_missing(pet, "status", Value::Null)),
        fault("shouted-status", &["pet.status-values"])
            .does("Statuses are written in capitals.")
            .like("enumeration constants printed by their names")
            .shows(|pet| {
                if let Some(Value::String(status)) = pet.get_mut("status") {
                    *status = status.to_uppercase();
                }
            }),
        fault("unknown-status", &["pet.status-values"])
            .does("An animal without a status has the status unknown.")
            .like("a default that the enumeration does not have")
            .shows(|pet| set_missing(pet, "status", "unknown")),
        fault("ids-of-seconds", &["pet.unique-id"])
            .does("Animals that are created in the same second have the same id.")
            .like("ids made of the time in seconds")
            .after(|request, response, server| {
                if request.is_create() {
                    response.edit_pets(|pet| set(pet, "id", server.now()));
                }
            }),
        fault("ids-per-process", &["pet.unique-id"])
            .does("Two animals at a time have the same id.")
            .like("two processes that both count from one")
            .shows(|pet| change(pet, "id", |id| Some(((id.as_i64()? + 1) / 2).into()))),
        fault("lost-updates", &["pet.unique-id"])
            .does("Now and then a new animal has the id of the one before.")
            .like("the largest id and one, read before another is written")
            .after(|request, response, server| {
                // Only among the first, which are created one after the other: so every run shows the same.
                let shared = request.is_create() && response.status == 201 && matches!(server.count(), 4 | 8 | 12);
                response.edit_pets(|pet| {
                    let id = pet["id"].as_i64().unwrap_or(0);
                    if shared {
                        server.memory().ids.insert(id, id - 1);
                    }
                    let shown = server.memory().ids.get(&id).copied().unwrap_or(id);
                    set(pet, "id", shown);
                });
            }),
    ]
}
