//! List all animals.

use serde_json::{Value, json};

use super::{Fault, fault, fill_in_status};
use crate::Request;

/// The limit that a request gives.
pub(super) fn limit_of(request: &Request) -> Option<usize> {
    request.number_of("limit").and_then(|limit| usize::try_from(limit).ok())
}

pub(super) fn faults() -> Vec<Fault> {
    [answers(), filters(), contents()].into_iter().flatten().collect()
}

fn answers() -> Vec<Fault> {
    vec![
        fault(
            "partial-content",
            "A list with a limit is answered with 206.",
            &["list.success"],
            "a page of a list taken for a range of bytes",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 200 && request.parameter("limit").is_some() {
                response.status = 206;
            }
        }),
        fault(
            "filter-fails",
            "A list of the pending animals is answered with 500.",
            &["list.success"],
            "a query that names a column as it was called once",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 200 && request.parameter("status") == Some("pending") {
                response.refuse(500);
            }
        }),
        fault(
            "forgotten-value",
            "A list of the sold animals is answered with 400.",
            &["list.success"],
            "an enumeration in the filter that lacks its third value",
        )
        .after(|request, response, _| {
            if response.status == 200 && request.is_list() && request.parameter("status") == Some("sold") {
                response.refuse(400);
            }
        }),
        fault(
            "envelope",
            "A list is an object with the animals in a member.",
            &["list.array"],
            "a page object around the list",
        )
        .after(|request, response, _| {
            response.edit_list(request, |_| {});
            if request.is_list() && response.status == 200 {
                let pets = response.json().unwrap_or_default();
                response.set_json(json!({"items": pets, "limit": 20}));
            }
        }),
        fault(
            "null-for-none",
            "An empty list is null.",
            &["list.array"],
            "a list that was never allocated, written as null",
        )
        .after(|request, response, _| {
            if request.is_list() && response.body == b"[]" {
                response.set_json(Value::Null);
            }
        }),
        fault(
            "bare-single",
            "A list of one animal is that animal, without an array.",
            &["list.array"],
            "a converter that unwraps a list of one",
        )
        .after(|request, response, _| {
            if request.is_list()
                && response.status == 200
                && let Some(Value::Array(pets)) = response.json()
                && pets.len() == 1
            {
                response.set_json(pets[0].clone());
            }
        }),
        fault(
            "nothing-is-204",
            "An empty list is answered with 204.",
            &["list.success"],
            "no content where the list is empty",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 200 && response.body == b"[]" {
                response.status = 204;
                response.body.clear();
            }
        }),
        fault(
            "parameters-crash",
            "Parameters that are not allowed are answered with 500.",
            &["list.bad-parameters"],
            "a parameter that goes into the query unread",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 400 {
                response.refuse(500);
            }
        }),
        fault(
            "overflow-crash",
            "A limit of many digits is answered with 500.",
            &["list.bad-parameters"],
            "a number that is too large to be read",
        )
        .after(|request, response, _| {
            if request.is_list() && request.parameter("limit").is_some_and(|limit| limit.len() > 18) {
                response.refuse(500);
            }
        }),
        fault(
            "parameters-422",
            "Parameters that are not allowed are answered with 422.",
            &["list.bad-parameters"],
            "a framework whose validation answers 422",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 400 {
                response.refuse(422);
            }
        }),
    ]
}

fn filters() -> Vec<Fault> {
    vec![
        fault(
            "filter-ignored",
            "The status parameter is ignored.",
            &["list.status-filter"],
            "a parameter that is not bound",
        )
        .edit(|request, _| {
            if request.is_list() {
                request.set_parameter("status", None);
            }
        }),
        fault(
            "any-case-filter",
            "A status parameter in another case is understood.",
            &["list.status-filter"],
            "a collation that does not distinguish cases",
        )
        .edit(|request, _| {
            if let Some(status) = request.parameter("status").map(str::to_lowercase) {
                request.set_parameter("status", Some(&status));
            }
        }),
        fault(
            "unknown-is-all",
            "A filter for an unknown status lists all animals.",
            &["list.status-filter"],
            "an unknown value that turns the filter off",
        )
        .edit(|request, _| {
            if request.parameter("status").is_some_and(|status| !["available", "pending", "sold"].contains(&status)) {
                request.set_parameter("status", None);
            }
        }),
        fault(
            "all-where-none-matches",
            "A filter that nothing matches lists all animals.",
            &["list.status-filter"],
            "an empty result that is taken for no filter",
        )
        .after(|request, response, server| {
            if request.parameter("status").is_some() {
                let limit = limit_of(request).unwrap_or(20);
                response.edit_list(request, |pets| {
                    if pets.is_empty() {
                        *pets = server.newest();
                        pets.truncate(limit);
                    }
                });
            }
        }),
        fault(
            "none-counts-as-available",
            "A filter for available lists animals without a status too.",
            &["list.status-filter"],
            "a filter that lets empty columns through",
        )
        .after(|request, response, server| {
            if request.parameter("status") == Some("available") {
                let limit = limit_of(request).unwrap_or(20);
                response.edit_list(request, |pets| {
                    *pets = server.newest();
                    pets.retain(|pet| pet["status"] == "available" || pet.get("status").is_none());
                    pets.truncate(limit);
                });
            }
        }),
        fault(
            "filter-after-limit",
            "A filtered page holds only the matches among the newest animals.",
            &["list.complete"],
            "a page is read first and filtered afterwards",
        )
        .after(|request, response, server| {
            if let Some(status) = request.parameter("status") {
                let limit = limit_of(request).unwrap_or(20);
                response.edit_list(request, |pets| {
                    *pets = server.newest();
                    pets.truncate(limit);
                    pets.retain(|pet| pet["status"] == status);
                });
            }
        }),
        fault(
            "cached-lists",
            "A list shows for up to a minute what it showed before.",
            &["list.complete"],
            "lists that are cached for a minute",
        )
        .after(|request, response, server| {
            if request.is_list() && response.status == 200 {
                let mut memory = server.memory();
                let minute = server.now() / 60;
                let cached = memory.cache.entry(format!("{minute} {}", request.query)).or_insert(response.clone());
                response.body.clone_from(&cached.body);
            }
        }),
        fault(
            "names-are-keys",
            "Of animals with one name only the newest is listed.",
            &["list.complete"],
            "a second animal of one name in the place of the first",
        )
        .after(|request, response, server| {
            let newest = server.newest();
            let is_last = |pet: &Value| newest.iter().find(|other| other["name"] == pet["name"]) == Some(pet);
            response.edit_list(request, |pets| pets.retain(is_last));
        }),
        fault(
            "filtered-by-ten",
            "A filtered list without a limit has no more than 10 animals.",
            &["list.complete"],
            "a smaller page where a filter is given",
        )
        .edit(|request, _| {
            if request.is_list() && request.parameter("status").is_some() && request.parameter("limit").is_none() {
                request.set_parameter("limit", Some("10"));
            }
        }),
        fault(
            "inner-join",
            "Animals without a status are not listed.",
            &["list.complete"],
            "a join that loses animals without a status",
        )
        .after(|request, response, _| {
            response.edit_list(request, |pets| pets.retain(|pet| pet.get("status").is_some()));
        }),
        fault(
            "first-page-for-ever",
            "Only the oldest 15 animals are ever listed.",
            &["list.complete"],
            "only the oldest animals, however long the list may be",
        )
        .after(|request, response, server| {
            let limit = limit_of(request).unwrap_or(20).min(15);
            let oldest: Vec<Value> = server.newest().into_iter().rev().take(limit).collect();
            response.edit_list(request, |pets| pets.retain(|pet| oldest.contains(pet)));
        }),
    ]
}

fn contents() -> Vec<Fault> {
    vec![
        fault(
            "joined-twice",
            "Each animal is listed twice.",
            &["list.unique"],
            "a join that yields an animal once for each of its two tags",
        )
        .after(|request, response, _| {
            let limit = limit_of(request).unwrap_or(20);
            response.edit_list(request, |pets| {
                *pets = pets.iter().flat_map(|pet| [pet.clone(), pet.clone()]).take(limit).collect();
            });
        }),
        fault(
            "overlapping-shards",
            "The first animal of a list is its last one too.",
            &["list.unique"],
            "two shards that both hold the newest animal",
        )
        .after(|request, response, _| {
            response.edit_list(request, |pets| {
                if let [first, .., last] = pets.as_mut_slice() {
                    last.clone_from(first);
                }
            });
        }),
        fault(
            "listed-as-available",
            "Listed animals are all available.",
            &["list.agrees"],
            "a view that lists whatever there is as available",
        )
        .after(|request, response, _| {
            if request.is_list() && request.parameter("status").is_none() {
                response.edit_pets(|pet| drop(pet.insert("status".to_owned(), json!("available"))));
            }
        }),
        fault(
            "default-in-fetches",
            "An animal without a status is fetched as available, and listed without one.",
            &["list.agrees"],
            "a default that a mapping of its own fills in",
        )
        .after(|request, response, _| {
            if request.is_get() {
                fill_in_status(response);
            }
        }),
        fault(
            "category-not-loaded",
            "Listed animals have the category 0.",
            &["list.agrees"],
            "a reference that is not loaded in lists, and shows as 0",
        )
        .after(|request, response, _| {
            if request.is_list() {
                response.edit_pets(|pet| drop(pet.insert("categoryId".to_owned(), json!(0))));
            }
        }),
        fault(
            "short-names",
            "Listed names are cut to eight characters.",
            &["list.agrees"],
            "names cut to the width of a column",
        )
        .after(|request, response, _| {
            if request.is_list() {
                response.edit_pets(|pet| {
                    let name: String = pet["name"].as_str().unwrap_or("").chars().take(8).collect();
                    pet.insert("name".to_owned(), json!(name));
                });
            }
        }),
    ]
}
