//! Add an animal: bodies that are hard to read, and readers that read too much into them.

use serde_json::{Value, json};

use super::{Saboteur, saboteur};
use crate::layers::Request;

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [lenient_readers(), failing_readers()].into_iter().flatten().collect()
}

/// Replaces text in the body of a creation.
fn replacing(request: &mut Request, from: &str, to: &str) {
    if request.is_create()
        && let Ok(text) = std::str::from_utf8(&request.body)
        && text.contains(from)
    {
        request.body = text.replace(from, to).into_bytes();
    }
}

fn lenient_readers() -> Vec<Saboteur> {
    vec![
        saboteur(
            "members-in-any-case",
            &["create.name-required", "create.category-required"],
            "a decoder that matches the names of members without regard to case",
        )
        .edit(|request, _| {
            request.edit_object(|pet| {
                for (name, other) in [("name", "Name"), ("categoryId", "CategoryId")] {
                    if let Some(value) = pet.get(other).cloned() {
                        pet.entry(name).or_insert(value);
                    }
                }
            });
        }),
        saboteur("one-value-of-many", &["create.malformed-json"], "a decoder of streams that leaves the rest unread")
            .edit(|request, _| {
                let mut values = serde_json::Deserializer::from_slice(&request.body).into_iter::<Value>();
                if let (true, Some(Ok(first))) = (request.is_create(), values.next()) {
                    let rest = request.body[values.byte_offset()..].to_vec();
                    if !rest.iter().all(u8::is_ascii_whitespace) {
                        request.set_json(first);
                    }
                }
            }),
        saboteur("leading-noughts", &["create.malformed-json"], "numbers read by a function of the language")
            .edit(|request, _| replacing(request, ":007", ":7")),
        saboteur("signed-numbers", &["create.malformed-json"], "a sign that every function for numbers takes")
            .edit(|request, _| replacing(request, ":+1", ":1")),
        saboteur("not-a-number", &["create.malformed-json"], "NaN taken for a number, and stored as nought")
            .edit(|request, _| replacing(request, ":NaN", ":0")),
        saboteur("replacement-characters", &["create.malformed-json"], "bytes decoded with replacement characters")
            .edit(|request, _| {
                if request.is_create() && std::str::from_utf8(&request.body).is_err() {
                    request.body = String::from_utf8_lossy(&request.body).into_owned().into_bytes();
                }
            }),
        saboteur("trimmed-status", &["create.status-enum"], "white space around a constant, trimmed").edit(
            |request, _| {
                request.edit_object(|pet| {
                    if let Some(status) =
                        pet.get("status").and_then(Value::as_str).map(|status| status.trim().to_owned())
                    {
                        pet.insert("status".to_owned(), json!(status));
                    }
                });
            },
        ),
    ]
}

/// A saboteur that answers some creations with this status.
fn failing(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    which: impl Fn(&Request) -> bool + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |request, response, _| {
        if request.is_create() && ![401, 429].contains(&response.status) && which(request) {
            response.refuse(status);
        }
    })
}

fn failing_readers() -> Vec<Saboteur> {
    let holds = |request: &Request, text: &str| request.body.windows(text.len()).any(|part| part == text.as_bytes());
    vec![
        failing(
            "half-pair-crash",
            &["create.malformed-json"],
            "half of a surrogate pair that cannot be encoded again",
            500,
            move |request| holds(request, r"\ud800"),
        ),
        saboteur(
            "half-pair-stored",
            &["list.success"],
            "half of a surrogate pair that is stored, and that no list can be written with",
        )
        .after(move |request, response, server| {
            if request.is_create() && response.status == 400 && holds(request, r"\ud800") {
                let pet = json!({"id": 900_000, "name": "half", "categoryId": 1});
                server.memory().ghosts.push(pet.clone());
                response.become_json(201, pet);
            }
            if request.is_list() && response.status == 200 && !server.memory().ghosts.is_empty() {
                response.refuse(500);
            }
        }),
        failing(
            "digits-crash",
            &["create.category-int64"],
            "a conversion with a bound on digits, whose exception nobody catches",
            500,
            move |request| holds(request, &"9".repeat(1_000)),
        ),
        failing(
            "nesting-crash",
            &["create.success"],
            "a parser that calls itself for each level until the stack ends",
            500,
            move |request| holds(request, &"[".repeat(1_000)),
        ),
        failing("large-crash", &["create.success"], "a buffer that is too small, and no check", 500, |request| {
            request.body.len() > 64 * 1024
        }),
        failing("small-limit", &["create.success"], "a bound of one kibibyte, for all bodies", 413, |request| {
            request.body.len() > 1024
        }),
        failing(
            "text-crash",
            &["create.malformed-json"],
            "a parser that is chosen by the media type, and none for this one",
            500,
            |request| request.header("content-type").starts_with("text/"),
        ),
    ]
}
