//! Get an animal, and store orders.

use serde_json::{Value, json};

use super::{Fault, fault, fill_in_status};
use crate::{Request, Response, ServerState};

pub(super) fn faults() -> Vec<Fault> {
    [animals(), strangers(), orders()].into_iter().flatten().collect()
}

/// A fault that answers requests for a malformed or an unknown id in another way.
fn missing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&Request, &mut Response) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |request, response, _| {
        if request.is_get() && response.status == 404 {
            change(request, response);
        }
    })
}

fn animal(server: &ServerState, id: i64) -> Option<Value> {
    server.memory().pets.iter().map(|(pet, _)| pet.clone()).find(|pet| pet["id"] == id)
}

fn animals() -> Vec<Fault> {
    vec![
        fault(
            "inner-ids",
            "A fetched animal has another id than was asked for.",
            &["get.success"],
            "the database's own id where the public one is meant",
        )
        .after(|request, response, _| {
            if request.is_get() {
                response.edit_pets(|pet| {
                    let id = pet["id"].as_i64().unwrap_or(0);
                    pet.insert("id".to_owned(), json!(id + 1_000));
                });
            }
        }),
        fault(
            "slow-replica",
            "An animal cannot be fetched for five minutes.",
            &["get.success"],
            "reads from a copy that is minutes behind",
        )
        .after(|request, response, server| {
            let now = server.timestamp();
            let recent = |id: i64| {
                let memory = server.memory();
                let born = memory.pets.iter().find(|(pet, _)| pet["id"] == id).map(|(_, born)| *born);
                born.is_some_and(|born| now.duration_since(born).as_secs() < 300)
            };
            if request.is_get() && response.status == 200 && request.id().is_some_and(recent) {
                response.refuse(404);
            }
        }),
        fault(
            "statusless-are-hidden",
            "An animal without a status cannot be fetched.",
            &["get.success"],
            "a default scope that leaves out what has no status yet",
        )
        .after(|request, response, server| {
            if request.is_get()
                && request.id().and_then(|id| animal(server, id)).is_some_and(|p| p.get("status").is_none())
            {
                response.refuse(404);
            }
        }),
        fault(
            "pending-hidden",
            "An animal that is pending cannot be fetched.",
            &["get.success"],
            "a default scope that leaves out what is reserved",
        )
        .after(|request, response, server| {
            let is_pending = |id: i64| animal(server, id).is_some_and(|pet| pet["status"] == "pending");
            if request.is_get() && response.status == 200 && request.id().is_some_and(is_pending) {
                response.refuse(404);
            }
        }),
        fault(
            "fetched-once",
            "An animal can be fetched once.",
            &["get.success"],
            "a store that gives away what it is asked for",
        )
        .after(|request, response, server| {
            if request.is_get() && response.status == 200 {
                let gone = server.memory().cache.insert(request.path.clone(), response.clone()).is_some();
                if gone {
                    response.refuse(404);
                }
            }
        }),
        fault(
            "one-shard-in-four",
            "One animal in four cannot be fetched.",
            &["get.success"],
            "one of four shards that fetches do not reach",
        )
        .after(|request, response, _| {
            if request.is_get() && response.status == 200 && request.id().is_some_and(|id| id % 4 == 0) {
                response.refuse(404);
            }
        }),
        fault(
            "fetched-without-status",
            "A fetched animal has no status.",
            &["get.agrees"],
            "a mapping of its own that lacks the newest member",
        )
        .after(|request, response, _| {
            if request.is_get() {
                response.edit_pets(|pet| drop(pet.remove("status")));
            }
        }),
        fault(
            "default-in-lists",
            "An animal without a status is listed as available, and fetched without one.",
            &["get.agrees"],
            "a default that the query of lists fills in, and nothing else",
        )
        .after(|request, response, _| {
            if request.is_list() {
                fill_in_status(response);
            }
        }),
        fault(
            "fetched-as-available",
            "A fetched animal is available, whatever its status is.",
            &["get.agrees"],
            "a projection with a default for the status",
        )
        .after(|request, response, _| {
            if request.is_get() {
                response.edit_pets(|pet| drop(pet.insert("status".to_owned(), json!("available"))));
            }
        }),
    ]
}

fn strangers() -> Vec<Fault> {
    vec![
        missing(
            "null-for-nobody",
            "An id that no animal has is answered with 200 and null.",
            &["get.not-found"],
            "a lookup that returns null, and 200",
            |request, response| {
                if request.id().is_some() {
                    response.become_json(200, Value::Null);
                }
            },
        ),
        missing(
            "nobody-is-204",
            "An id that no animal has is answered with 204.",
            &["get.not-found"],
            "an empty optional that a framework turns into 204",
            |request, response| {
                if request.id().is_some() {
                    response.status = 204;
                    response.body.clear();
                }
            },
        ),
        missing(
            "negative-is-bad",
            "A negative id is answered with 400.",
            &["get.not-found"],
            "a check that an id is positive",
            |request, response| {
                if request.id().is_some_and(|id| id < 0) {
                    response.refuse(400);
                }
            },
        ),
        missing(
            "too-large-for-a-column",
            "An id of more than 32 bits is answered with 500.",
            &["get.not-found"],
            "an id column of 32 bits",
            |request, response| {
                if request.id().is_some_and(|id| i32::try_from(id).is_err()) {
                    response.refuse(500);
                }
            },
        ),
        fault(
            "cut-to-32-bits",
            "Of an id only the lower 32 bits are looked up.",
            &["get.not-found"],
            "an id that is cut to 32 bits on the way",
        )
        .edit(|request, _| {
            if let Some(id) = request.id().filter(|_| request.is_get()) {
                request.path = format!("/pets/{}", id & 0xffff_ffff);
            }
        }),
        missing(
            "malformed-crash",
            "An id that is no int64 is answered with 500.",
            &["get.malformed-id"],
            "a number that is parsed without a look",
            |request, response| {
                if request.id().is_none() {
                    response.refuse(500);
                }
            },
        ),
        missing(
            "malformed-422",
            "An id that is no int64 is answered with 422.",
            &["get.malformed-id"],
            "a framework whose path parameters answer 422",
            |request, response| {
                if request.id().is_none() {
                    response.refuse(422);
                }
            },
        ),
        fault(
            "leading-digits",
            "Of an id only the digits at its beginning are looked up.",
            &["get.malformed-id"],
            "a parser that stops at the first other character",
        )
        .edit(|request, _| {
            if let Some(text) = request.path.strip_prefix("/pets/").filter(|_| request.is_get()) {
                let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                if !digits.is_empty() {
                    request.path = format!("/pets/{digits}");
                }
            }
        }),
    ]
}

fn orders() -> Vec<Fault> {
    vec![
        fault(
            "no-orders",
            "Store orders are answered with 404.",
            &["orders.exists"],
            "a route that nobody has written yet",
        )
        .after(|request, response, _| {
            if request.is_orders() && response.status == 200 {
                response.refuse(404);
            }
        }),
        fault(
            "orders-by-post-only",
            "Store orders are answered with 405.",
            &["orders.exists"],
            "a route for another method only",
        )
        .after(|request, response, _| {
            if request.is_orders() && response.status == 200 {
                response.refuse(405);
                response.set("allow", "POST");
            }
        }),
    ]
}
