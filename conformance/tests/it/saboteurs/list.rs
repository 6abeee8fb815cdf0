//! List all animals.

use serde_json::{Value, json};

use super::{Saboteur, saboteur};
use crate::layers::{Request, Response, ServerState};

/// Lists so many of what the reference holds, newest first, filtered as asked.
fn relist(request: &Request, response: &mut Response, server: &ServerState, limit: usize) {
    if request.is_list() && matches!(response.status, 200 | 400) {
        let wanted = request.parameter("status");
        let matches = |pet: &Value| wanted.is_none_or(|status| pet["status"] == status);
        let pets: Vec<Value> = server.newest().into_iter().filter(matches).take(limit).collect();
        response.become_json(200, pets);
    }
}

fn limit_of(request: &Request) -> Option<usize> {
    request.number_of("limit").and_then(|limit| usize::try_from(limit).ok())
}

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [answers(), limits(), filters(), contents()].into_iter().flatten().collect()
}

fn answers() -> Vec<Saboteur> {
    vec![
        saboteur("partial-content", &["list.success"], "a page of a list taken for a range of bytes").after(
            |request, response, _| {
                if request.is_list() && response.status == 200 && request.parameter("limit").is_some() {
                    response.status = 206;
                }
            },
        ),
        saboteur("filter-fails", &["list.success"], "a query that names a column as it was called once").after(
            |request, response, _| {
                if request.is_list() && response.status == 200 && request.parameter("status") == Some("pending") {
                    response.refuse(500);
                }
            },
        ),
        saboteur("forgotten-value", &["list.success"], "an enumeration in the filter that lacks its third value")
            .after(|request, response, _| {
                if response.status == 200 && request.is_list() && request.parameter("status") == Some("sold") {
                    response.refuse(400);
                }
            }),
        saboteur("envelope", &["list.array"], "a page object around the list").after(|request, response, _| {
            response.edit_list(request, |_| {});
            if request.is_list() && response.status == 200 {
                let pets = response.json().unwrap_or_default();
                response.set_json(json!({"items": pets, "limit": 20}));
            }
        }),
        saboteur("null-for-none", &["list.array"], "a list that was never allocated, written as null").after(
            |request, response, _| {
                if request.is_list() && response.body == b"[]" {
                    response.set_json(Value::Null);
                }
            },
        ),
        saboteur("bare-single", &["list.array"], "a converter that unwraps a list of one").after(
            |request, response, _| {
                if request.is_list()
                    && response.status == 200
                    && let Some(Value::Array(pets)) = response.json()
                    && pets.len() == 1
                {
                    response.set_json(pets[0].clone());
                }
            },
        ),
        saboteur("nothing-is-204", &["list.success"], "no content where the list is empty").after(
            |request, response, _| {
                if request.is_list() && response.status == 200 && response.body == b"[]" {
                    response.status = 204;
                    response.body.clear();
                }
            },
        ),
        saboteur("parameters-crash", &["list.bad-parameters"], "a parameter that goes into the query unread").after(
            |request, response, _| {
                if request.is_list() && response.status == 400 {
                    response.refuse(500);
                }
            },
        ),
        saboteur("overflow-crash", &["list.bad-parameters"], "a number that is too large to be read").after(
            |request, response, _| {
                if request.is_list() && request.parameter("limit").is_some_and(|limit| limit.len() > 18) {
                    response.refuse(500);
                }
            },
        ),
        saboteur("parameters-422", &["list.bad-parameters"], "a framework whose validation answers 422").after(
            |request, response, _| {
                if request.is_list() && response.status == 400 {
                    response.refuse(422);
                }
            },
        ),
    ]
}

fn limits() -> Vec<Saboteur> {
    vec![
        saboteur("minimum-exclusive", &["list.limit-minimum"], "greater than one where it should be at least one")
            .after(|request, response, _| {
                if response.status == 200 && request.is_list() && request.parameter("limit") == Some("1") {
                    response.refuse(400);
                }
            }),
        saboteur(
            "one-more",
            &["list.limit-minimum", "list.limit-honoured"],
            "one row more, to know whether there is another page, and never cut off",
        )
        .after(|request, response, server| {
            if response.status == 200 {
                relist(request, response, server, limit_of(request).unwrap_or(20) + 1);
            }
        }),
        saboteur("maximum-exclusive", &["list.limit-maximum"], "less than a hundred where it should be at most").after(
            |request, response, _| {
                if response.status == 200 && request.is_list() && request.parameter("limit") == Some("100") {
                    response.refuse(400);
                }
            },
        ),
        saboteur("no-maximum", &["list.limit-maximum"], "whatever limit is asked for").stock(150).after(
            |request, response, server| {
                if let Some(limit) = limit_of(request) {
                    relist(request, response, server, limit);
                }
            },
        ),
        saboteur(
            "wraps-past-the-maximum",
            &["list.limit-maximum"],
            "a limit that is checked after it was cut to 32 bits",
        )
        .stock(150)
        .after(|request, response, server| {
            if let Some(limit) = limit_of(request).filter(|limit| *limit > 1 << 32) {
                relist(request, response, server, limit);
            }
        }),
        saboteur("a-thousand-at-most", &["list.limit-maximum"], "a check that only very large limits fail")
            .stock(150)
            .after(|request, response, server| {
                if let Some(limit) = limit_of(request).filter(|limit| *limit == 1_000) {
                    relist(request, response, server, limit);
                }
            }),
        saboteur("default-50", &["list.limit-default"], "the page size that the framework comes with").stock(60).edit(
            |request, _| {
                if request.is_list() && request.parameter("limit").is_none() {
                    request.set_parameter("limit", Some("50"));
                }
            },
        ),
        saboteur("default-10", &["list.limit-default"], "another page size than the one that was agreed").edit(
            |request, _| {
                if request.is_list() && request.parameter("limit").is_none() {
                    request.set_parameter("limit", Some("10"));
                }
            },
        ),
        saboteur("no-default", &["list.limit-default"], "no limit unless one is asked for").stock(40).after(
            |request, response, server| {
                if request.is_list() && request.parameter("limit").is_none() {
                    relist(request, response, server, usize::MAX);
                }
            },
        ),
        saboteur("limit-lost-in-filter", &["list.limit-honoured"], "a second query, for the filter, without the limit")
            .edit(|request, _| {
                if request.is_list()
                    && request.parameter("status").is_some()
                    && limit_of(request).is_some_and(|l| l < 20)
                {
                    request.set_parameter("limit", None);
                }
            }),
        saboteur("pages-of-ten", &["list.limit-honoured"], "limits rounded up to whole pages").edit(|request, _| {
            if let Some(limit @ 1..=100) = request.number_of("limit").filter(|_| request.is_list()) {
                request.set_parameter("limit", Some(&((limit + 9) / 10 * 10).to_string()));
            }
        }),
    ]
}

fn filters() -> Vec<Saboteur> {
    vec![
        saboteur("filter-ignored", &["list.status-filter"], "a parameter that is not bound").edit(|request, _| {
            if request.is_list() {
                request.set_parameter("status", None);
            }
        }),
        saboteur("any-case-filter", &["list.status-filter"], "a collation that does not tell cases apart").edit(
            |request, _| {
                if let Some(status) = request.parameter("status").map(str::to_lowercase) {
                    request.set_parameter("status", Some(&status));
                }
            },
        ),
        saboteur("unknown-is-all", &["list.status-filter"], "an unknown value that turns the filter off").edit(
            |request, _| {
                if request.parameter("status").is_some_and(|status| !["available", "pending", "sold"].contains(&status))
                {
                    request.set_parameter("status", None);
                }
            },
        ),
        saboteur("none-counts-as-available", &["list.status-filter"], "a filter that lets empty columns through")
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
        saboteur("filter-after-limit", &["list.complete"], "a page is read first and filtered afterwards").after(
            |request, response, server| {
                if let Some(status) = request.parameter("status") {
                    let limit = limit_of(request).unwrap_or(20);
                    response.edit_list(request, |pets| {
                        *pets = server.newest();
                        pets.truncate(limit);
                        pets.retain(|pet| pet["status"] == status);
                    });
                }
            },
        ),
        saboteur("cached-lists", &["list.complete"], "lists that are cached for a minute").after(
            |request, response, server| {
                if request.is_list() && response.status == 200 {
                    let mut memory = server.memory();
                    let minute = server.now() / 60;
                    let cached = memory.cache.entry(format!("{minute} {}", request.query)).or_insert(response.clone());
                    response.body.clone_from(&cached.body);
                }
            },
        ),
        saboteur("names-are-keys", &["list.complete"], "a second animal of one name in the place of the first").after(
            |request, response, server| {
                let newest = server.newest();
                let is_last = |pet: &Value| newest.iter().find(|other| other["name"] == pet["name"]) == Some(pet);
                response.edit_list(request, |pets| pets.retain(is_last));
            },
        ),
        saboteur("filtered-by-ten", &["list.complete"], "a smaller page where a filter is given").edit(|request, _| {
            if request.is_list() && request.parameter("status").is_some() && request.parameter("limit").is_none() {
                request.set_parameter("limit", Some("10"));
            }
        }),
        saboteur("inner-join", &["list.complete"], "a join that loses animals without a status").after(
            |request, response, _| response.edit_list(request, |pets| pets.retain(|pet| pet.get("status").is_some())),
        ),
        saboteur("first-page-for-ever", &["list.complete"], "only the oldest animals, however long the list may be")
            .after(|request, response, server| {
                let limit = limit_of(request).unwrap_or(20).min(15);
                let oldest: Vec<Value> = server.newest().into_iter().rev().take(limit).collect();
                response.edit_list(request, |pets| pets.retain(|pet| oldest.contains(pet)));
            }),
    ]
}

fn contents() -> Vec<Saboteur> {
    vec![
        saboteur("joined-twice", &["list.unique"], "a join that yields an animal once for each of its two tags").after(
            |request, response, _| {
                let limit = limit_of(request).unwrap_or(20);
                response.edit_list(request, |pets| {
                    *pets = pets.iter().flat_map(|pet| [pet.clone(), pet.clone()]).take(limit).collect();
                });
            },
        ),
        saboteur("overlapping-shards", &["list.unique"], "two shards that both hold the newest animal").after(
            |request, response, _| {
                response.edit_list(request, |pets| {
                    if let [first, .., last] = pets.as_mut_slice() {
                        last.clone_from(first);
                    }
                });
            },
        ),
        saboteur("listed-as-available", &["list.agrees"], "a view that lists whatever there is as available").after(
            |request, response, _| {
                if request.is_list() && request.parameter("status").is_none() {
                    response.edit_pets(|pet| drop(pet.insert("status".to_owned(), json!("available"))));
                }
            },
        ),
        saboteur("category-not-loaded", &["list.agrees"], "a reference that is not loaded in lists, and shows as 0")
            .after(|request, response, _| {
                if request.is_list() {
                    response.edit_pets(|pet| drop(pet.insert("categoryId".to_owned(), json!(0))));
                }
            }),
        saboteur("short-names", &["list.agrees"], "names cut to the width of a column").after(
            |request, response, _| {
                if request.is_list() {
                    response.edit_pets(|pet| {
                        let name: String = pet["name"].as_str().unwrap_or("").chars().take(8).collect();
                        pet.insert("name".to_owned(), json!(name));
                    });
                }
            },
        ),
    ]
}
