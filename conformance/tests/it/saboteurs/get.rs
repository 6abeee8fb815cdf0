//! Get an animal, and store orders.

use serde_json::{Value, json};

use super::{Saboteur, saboteur};
use crate::layers::{Answer, Ask, Stage};

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [animals(), strangers(), orders()].into_iter().flatten().collect()
}

/// A saboteur that answers what no int64 names, or what no animal has, in another way.
fn missing(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&Ask, &mut Answer) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |ask, answer, _| {
        if ask.is_get() && answer.status == 404 {
            change(ask, answer);
        }
    })
}

fn animal(stage: &Stage, id: i64) -> Option<Value> {
    stage.memory().pets.iter().map(|(pet, _)| pet.clone()).find(|pet| pet["id"] == id)
}

fn animals() -> Vec<Saboteur> {
    vec![
        saboteur("inner-ids", &["get.success"], "the database's own id where the public one is meant").after(
            |ask, answer, _| {
                if ask.is_get() {
                    answer.edit_pets(|pet| {
                        let id = pet["id"].as_i64().unwrap_or(0);
                        pet.insert("id".to_owned(), json!(id + 1_000));
                    });
                }
            },
        ),
        saboteur("slow-replica", &["get.success"], "reads from a copy that is minutes behind").after(
            |ask, answer, stage| {
                let now = stage.instant();
                let recent = |id: i64| {
                    let memory = stage.memory();
                    let born = memory.pets.iter().find(|(pet, _)| pet["id"] == id).map(|(_, born)| *born);
                    born.is_some_and(|born| now.duration_since(born).as_secs() < 300)
                };
                if ask.is_get() && answer.status == 200 && ask.id().is_some_and(recent) {
                    answer.refuse(404);
                }
            },
        ),
        saboteur("statusless-are-hidden", &["get.success"], "a default scope that leaves out what has no status yet")
            .after(|ask, answer, stage| {
                if ask.is_get() && ask.id().and_then(|id| animal(stage, id)).is_some_and(|p| p.get("status").is_none())
                {
                    answer.refuse(404);
                }
            }),
        saboteur("fetched-once", &["get.success"], "a store that gives away what it is asked for").after(
            |ask, answer, stage| {
                if ask.is_get() && answer.status == 200 {
                    let gone = stage.memory().cache.insert(ask.path.clone(), answer.clone()).is_some();
                    if gone {
                        answer.refuse(404);
                    }
                }
            },
        ),
        saboteur("one-shard-in-four", &["get.success"], "one of four shards that fetches do not reach").after(
            |ask, answer, _| {
                if ask.is_get() && answer.status == 200 && ask.id().is_some_and(|id| id % 4 == 0) {
                    answer.refuse(404);
                }
            },
        ),
        saboteur("fetched-without-status", &["get.agrees"], "a mapping of its own that lacks the newest member").after(
            |ask, answer, _| {
                if ask.is_get() {
                    answer.edit_pets(|pet| drop(pet.remove("status")));
                }
            },
        ),
        saboteur("fetched-as-available", &["get.agrees"], "a projection with a default for the status").after(
            |ask, answer, _| {
                if ask.is_get() {
                    answer.edit_pets(|pet| drop(pet.insert("status".to_owned(), json!("available"))));
                }
            },
        ),
    ]
}

fn strangers() -> Vec<Saboteur> {
    vec![
        missing("null-for-nobody", &["get.not-found"], "a lookup that returns null, and 200", |ask, answer| {
            if ask.id().is_some() {
                answer.become_json(200, Value::Null);
            }
        }),
        missing(
            "nobody-is-204",
            &["get.not-found"],
            "an empty optional that a framework turns into 204",
            |ask, answer| {
                if ask.id().is_some() {
                    answer.status = 204;
                    answer.body.clear();
                }
            },
        ),
        missing("negative-is-bad", &["get.not-found"], "a check that an id is positive", |ask, answer| {
            if ask.id().is_some_and(|id| id < 0) {
                answer.refuse(400);
            }
        }),
        missing("too-large-for-a-column", &["get.not-found"], "an id column of 32 bits", |ask, answer| {
            if ask.id().is_some_and(|id| i32::try_from(id).is_err()) {
                answer.refuse(500);
            }
        }),
        saboteur("cut-to-32-bits", &["get.not-found"], "an id that is cut to 32 bits on the way").edit(|ask, _| {
            if let Some(id) = ask.id().filter(|_| ask.is_get()) {
                ask.path = format!("/pets/{}", id & 0xffff_ffff);
            }
        }),
        missing("malformed-crash", &["get.malformed-id"], "a number that is parsed without a look", |ask, answer| {
            if ask.id().is_none() {
                answer.refuse(500);
            }
        }),
        missing(
            "malformed-422",
            &["get.malformed-id"],
            "a framework whose path parameters answer 422",
            |ask, answer| {
                if ask.id().is_none() {
                    answer.refuse(422);
                }
            },
        ),
        saboteur("leading-digits", &["get.malformed-id"], "a parser that stops at the first other character").edit(
            |ask, _| {
                if let Some(text) = ask.path.strip_prefix("/pets/").filter(|_| ask.is_get()) {
                    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                    if !digits.is_empty() {
                        ask.path = format!("/pets/{digits}");
                    }
                }
            },
        ),
    ]
}

fn orders() -> Vec<Saboteur> {
    vec![
        saboteur("no-orders", &["orders.exists"], "a route that nobody has written yet").after(|ask, answer, _| {
            if ask.is_orders() && answer.status == 200 {
                answer.refuse(404);
            }
        }),
        saboteur("orders-by-post-only", &["orders.exists"], "a route for another method only").after(
            |ask, answer, _| {
                if ask.is_orders() && answer.status == 200 {
                    answer.refuse(405);
                    answer.set("allow", "POST");
                }
            },
        ),
    ]
}
