//! List all animals.

use serde_json::{Value, json};

use super::{Fault, fault, is_status, set, set_missing};
use crate::Request;
use animal_store_reference::Plan;

/// The limit that a request gives.
pub(super) fn limit_of(request: &Request) -> Option<usize> {
    request.number_of("limit").and_then(|limit| usize::try_from(limit).ok())
}

pub(super) fn faults() -> Vec<Fault> {
    [answers(), filters(), contents()].into_iter().flatten().collect()
}

fn answers() -> Vec<Fault> {
    vec![
        fault("partial-content", &["list.success"])
            .does("A list with a limit is answered with 206.")
            .like("a page of a list taken for a range of bytes")
            .after(|request, response, _| {
                if request.is_list() && response.status == 200 && request.parameter("limit").is_some() {
                    response.status = 206;
                }
            }),
        fault("filter-fails", &["list.success"])
            .does("A list of the pending animals is answered with 500.")
            .like("a query that names a column as it was called once")
            .turns(200, 500, |request| request.is_list() && request.parameter("status") == Some("pending")),
        fault("forgotten-value", &["list.success"])
            .does("A list of the sold animals is answered with 400.")
            .like("an enumeration in the filter that lacks its third value")
            .turns(200, 400, |request| request.is_list() && request.parameter("status") == Some("sold")),
        fault("envelope", &["list.array"])
            .does("A list is an object with the animals in a member.")
            .like("a page object around the list")
            .after(|request, response, _| {
                if request.is_list() && response.status == 200 {
                    let pets = response.json().unwrap_or_default();
                    response.set_json(json!({"items": pets, "limit": 20}));
                }
            }),
        fault("null-for-none", &["list.array"])
            .does("An empty list is null.")
            .like("a list that was never allocated, written as null")
            .after(|request, response, _| {
                if request.is_list() && response.body == b"[]" {
                    response.set_json(Value::Null);
                }
            }),
        fault("bare-single", &["list.array"])
            .does("A list of one animal is that animal, without an array.")
            .like("a converter that unwraps a list of one")
            .after(|request, response, _| {
                if request.is_list()
                    && response.status == 200
                    && let Some(Value::Array(pets)) = response.json()
                    && pets.len() == 1
                {
                    response.set_json(pets[0].clone());
                }
            }),
        fault("nothing-is-204", &["list.success"])
            .does("An empty list is answered with 204.")
            .like("no content where the list is empty")
            .after(|request, response, _| {
                if request.is_list() && response.status == 200 && response.body == b"[]" {
                    response.status = 204;
                    response.body.clear();
                }
            }),
        fault("parameters-crash", &["list.bad-parameters"])
            .does("Parameters that are not allowed are answered with 500.")
            .like("a parameter that goes into the query unread")
            .turns(400, 500, Request::is_list),
        fault("overflow-crash", &["list.bad-parameters"])
            .does("A limit of many digits is answered with 500.")
            .like("a number that is too large to be read")
            .after(|request, response, _| {
                if request.is_list() && request.parameter("limit").is_some_and(|limit| limit.len() > 18) {
                    response.refuse(500);
                }
            }),
        fault("parameters-422", &["list.bad-parameters"])
            .does("Parameters that are not allowed are answered with 422.")
            .like("a framework whose validation answers 422")
            .turns(400, 422, Request::is_list),
    ]
}

fn filters() -> Vec<Fault> {
    vec![
        fault("filter-ignored", &["list.status-filter"])
            .does("The status parameter is ignored.")
            .like("a parameter that is not bound")
            .edit(|request, _| {
                if request.is_list() {
                    request.set_parameter("status", None);
                }
            }),
        fault("any-case-filter", &["list.status-filter"])
            .does("A status parameter in another case is understood.")
            .like("a collation that does not distinguish cases")
            .edit(|request, _| {
                if let Some(status) = request.parameter("status").map(str::to_lowercase) {
                    request.set_parameter("status", Some(&status));
                }
            }),
        fault("unknown-is-all", &["list.status-filter"])
            .does("A filter for an unknown status lists all animals.")
            .like("an unknown value that turns the filter off")
            .edit(|request, _| {
                if request.parameter("status").is_some_and(|status| !is_status(status)) {
                    request.set_parameter("status", None);
                }
            }),
        fault("all-where-none-matches", &["list.status-filter"])
            .does("A filter that nothing matches lists all animals.")
            .like("an empty result that is taken for no filter")
            .lists(|pets, request, server| {
                if request.parameter("status").is_some() && pets.is_empty() {
                    *pets = server.newest();
                    pets.truncate(limit_of(request).unwrap_or(20));
                }
            }),
        fault("none-counts-as-available", &["list.status-filter"])
            .does("A filter for available lists animals without a status too.")
            .like("a filter that lets empty columns through")
            .lists(|pets, request, server| {
                if request.parameter("status") == Some("available") {
                    *pets = server.newest();
                    pets.retain(|pet| pet["status"] == "available" || pet.get("status").is_none());
                    pets.truncate(limit_of(request).unwrap_or(20));
                }
            }),
        fault("filter-after-limit", &["list.complete"])
            .does("A filtered page holds only the matches among the newest animals.")
            .like("a page is read first and filtered afterwards")
            .lists(|pets, request, server| {
                if let Some(status) = request.parameter("status") {
                    *pets = server.newest();
                    pets.truncate(limit_of(request).unwrap_or(20));
                    pets.retain(|pet| pet["status"] == status);
                }
            }),
        fault("cached-lists", &["list.complete"])
            .does("A list shows for up to a minute what it showed before.")
            .like("lists that are cached for a minute")
            .after(|request, response, server| {
                if request.is_list() && response.status == 200 {
                    let mut memory = server.memory();
                    let minute = server.now() / 60;
                    let cached = memory.cache.entry(format!("{minute} {}", request.query)).or_insert(response.clone());
                    response.body.clone_from(&cached.body);
                }
            }),
        fault("kept-for-a-status", &["list.complete"])
            .does("A list shows for up to a minute what it showed before, unless an animal with a status is created.")
            .like("lists that are cached until the animals of a status change")
            .on(Plan::Pro)
            .after(|request, response, server| {
                let mut memory = server.memory();
                if request.object().is_some_and(|pet| pet.contains_key("status")) && response.status == 201 {
                    memory.cache.clear();
                }
                if request.is_list() && response.status == 200 {
                    let minute = server.now() / 60;
                    let cached = memory.cache.entry(format!("{minute} {}", request.query)).or_insert(response.clone());
                    response.body.clone_from(&cached.body);
                }
            }),
        fault("names-are-keys", &["list.complete"])
            .does("Of animals with one name only the newest is listed.")
            .like("a second animal of one name in the place of the first")
            .lists(|pets, _, server| {
                let newest = server.newest();
                pets.retain(|pet| newest.iter().find(|other| other["name"] == pet["name"]) == Some(pet));
            }),
        fault("filtered-by-ten", &["list.complete"])
            .does("A filtered list without a limit has no more than 10 animals.")
            .like("a smaller page where a filter is given")
            .edit(|request, _| {
                if request.is_list() && request.parameter("status").is_some() && request.parameter("limit").is_none() {
                    request.set_parameter("limit", Some("10"));
                }
            }),
        fault("inner-join", &["list.complete"])
            .does("Animals without a status are not listed.")
            .like("a join that loses animals without a status")
            .lists(|pets, _, _| pets.retain(|pet| pet.get("status").is_some())),
        fault("first-page-for-ever", &["list.complete"])
            .does("Only the oldest 15 animals are ever listed.")
            .like("only the oldest animals, however long the list may be")
            .lists(|pets, request, server| {
                let limit = limit_of(request).unwrap_or(20).min(15);
                let oldest: Vec<Value> = server.newest().into_iter().rev().take(limit).collect();
                pets.retain(|pet| oldest.contains(pet));
            }),
    ]
}

fn contents() -> Vec<Fault> {
    vec![
        fault("joined-twice", &["list.unique"])
            .does("Each animal is listed twice.")
            .like("a join that yields an animal once for each of its two tags")
            .lists(|pets, request, _| {
                let limit = limit_of(request).unwrap_or(20);
                *pets = pets.iter().flat_map(|pet| [pet.clone(), pet.clone()]).take(limit).collect();
            }),
        fault("overlapping-shards", &["list.unique"])
            .does("The first animal of a list is its last one too.")
            .like("two shards that both hold the newest animal")
            .lists(|pets, _, _| {
                if let [first, .., last] = pets.as_mut_slice() {
                    last.clone_from(first);
                }
            }),
        fault("listed-as-available", &["list.agrees"])
            .does("Listed animals are all available.")
            .like("a view that lists whatever there is as available")
            .shows_in(
                |request| request.is_list() && request.parameter("status").is_none(),
                |pet| set(pet, "status", "available"),
            ),
        fault("default-in-fetches", &["list.agrees"])
            .does("An animal without a status is fetched as available, and listed without one.")
            .like("a default that a mapping of its own fills in")
            .shows_in(Request::is_get, |pet| set_missing(pet, "status", "available")),
        fault("category-not-loaded", &["list.agrees"])
            .does("Listed animals have the category 0.")
            .like("a reference that is not loaded in lists, and shows as 0")
            .shows_in(Request::is_list, |pet| set(pet, "categoryId", 0)),
        fault("short-names", &["list.agrees"])
            .does("Listed names are cut to eight characters.")
            .like("names cut to the width of a column")
            .shows_in(Request::is_list, |pet| {
                let name: String = pet["name"].as_str().unwrap_or("").chars().take(8).collect();
                set(pet, "name", name);
            }),
    ]
}
