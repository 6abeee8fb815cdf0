//! Resources and their fields: the members of an animal.

use serde_json::Value;

use super::{Builds, Fault, change, fault, set, set_missing};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("pet.members.snake-case", "The category is called category_id.").shows(|pet| {
            if let Some(category) = pet.remove("categoryId") {
                set(pet, "category_id", category);
            }
        }),
        fault("pet.members.sparse-lists", "Listed animals have no categoryId.")
            .shows_in(Request::is_list, |pet| drop(pet.remove("categoryId"))),
        fault("pet.members.null-names", "A fetched animal has the name null.")
            .shows_in(Request::is_get, |pet| set(pet, "name", Value::Null)),
        fault("pet.members.names-of-digits", "A name of digits comes back as a number.")
            .shows(|pet| change(pet, "name", |name| Some(name.as_str()?.parse::<i64>().ok()?.into()))),
        fault("pet.members.string-ids", "Ids are strings.")
            .also(&["pet.int64"])
            .shows(|pet| change(pet, "id", |id| Some(id.to_string().into()))),
        fault("pet.int64.wide-ids", "Ids are larger than an int64.")
            .shows(|pet| change(pet, "id", |id| Some((id.as_u64()? + (1 << 63)).into()))),
        fault("pet.int64.fractional-ids", "Ids have a fraction.")
            .shows(|pet| change(pet, "id", |id| Some((id.as_f64()? + 0.5).into()))),
        fault("pet.status-values.null-status", "An animal without a status has the status null.")
            .shows(|pet| set_missing(pet, "status", Value::Null)),
        fault("pet.status-values.shouted-status", "Statuses are written in capitals.")
            .shows(|pet| change(pet, "status", |status| Some(status.as_str()?.to_uppercase().into()))),
        fault("pet.status-values.unknown-status", "An animal without a status has the status unknown.")
            .shows(|pet| set_missing(pet, "status", "unknown")),
        fault("pet.unique-id.ids-of-seconds", "Animals that are created in the same second have the same id.")
            .answered(201, |_, response, server| response.edit_pets(|pet| set(pet, "id", server.now()))),
        fault("pet.unique-id.ids-per-process", "Two animals at a time have the same id.")
            .shows(|pet| change(pet, "id", |id| Some(((id.as_i64()? + 1) / 2).into()))),
        fault("pet.unique-id.lost-updates", "Some animals have the id of the one before.").after(
            |request, response, server| {
                // Only among the first, which are created one after the other: so every run shows the same.
                let shared = request.is_create() && response.status == 201 && matches!(server.count(), 4 | 8 | 12);
                response.edit_pets(|pet| {
                    let id = pet["id"].as_i64().unwrap_or(0);
                    let is_shared = shared && server.is_new(id) || server.has_seen(&id);
                    set(pet, "id", id - i64::from(is_shared));
                });
            },
        ),
    ]
}
