//! Add an animal: bodies that are hard to read, and readers that read too much into them.

use serde_json::{Value, json};

use super::{Fault, fault};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
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

fn lenient_readers() -> Vec<Fault> {
    vec![
        fault(
            "members-in-any-case",
            "Members called Name and CategoryId are taken for the described ones.",
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
        fault(
            "positional",
            "An array of a name, a category and a status is taken for an animal.",
            &["create.body-required"],
            "a reader that serde derives for a struct, which takes a sequence as well",
        )
        .edit(|request, _| {
            if let Some(Value::Array(values)) = request.json().filter(|_| request.is_create())
                && let [name, category, status] = values.as_slice()
            {
                request.set_json(json!({"name": name, "categoryId": category, "status": status}));
            }
        }),
        fault(
            "variant-with-null",
            "An object whose one member is called as a status and is null is taken for that status.",
            &["create.status-enum"],
            "a reader that serde derives for an enumeration, which takes a map of one variant as well",
        )
        .edit(|request, _| {
            request.edit_object(|pet| {
                let variant = pet.get("status").and_then(Value::as_object).filter(|variant| variant.len() == 1);
                let named = variant.and_then(|variant| variant.iter().next()).filter(|(_, value)| value.is_null());
                if let Some(status) = named.map(|(name, _)| name.clone()) {
                    pet.insert("status".to_owned(), json!(status));
                }
            });
        }),
        fault(
            "one-value-of-many",
            "What follows the first JSON value of a body is ignored.",
            &["create.malformed-json"],
            "a decoder of streams that leaves the rest unread",
        )
        .edit(|request, _| {
            let mut values = serde_json::Deserializer::from_slice(&request.body).into_iter::<Value>();
            if let (true, Some(Ok(first))) = (request.is_create(), values.next()) {
                let rest = request.body[values.byte_offset()..].to_vec();
                if !rest.iter().all(u8::is_ascii_whitespace) {
                    request.set_json(first);
                }
            }
        }),
        fault(
            "leading-noughts",
            "007 is accepted as a number.",
            &["create.extended-json"],
            "numbers read by a function of the language",
        )
        .edit(|request, _| replacing(request, ":007", ":7")),
        fault(
            "signed-numbers",
            "+1 is accepted as a number.",
            &["create.extended-json"],
            "a sign that every function for numbers takes",
        )
        .edit(|request, _| replacing(request, ":+1", ":1")),
        fault(
            "not-a-number",
            "NaN is accepted as a number.",
            &["create.malformed-json"],
            "NaN taken for a number, and stored as nought",
        )
        .edit(|request, _| replacing(request, ":NaN", ":0")),
        fault(
            "replacement-characters",
            "A body that is not UTF-8 creates an animal.",
            &["create.malformed-json"],
            "bytes decoded with replacement characters",
        )
        .edit(|request, _| {
            if request.is_create() && std::str::from_utf8(&request.body).is_err() {
                request.body = String::from_utf8_lossy(&request.body).into_owned().into_bytes();
            }
        }),
        fault(
            "trimmed-status",
            "White space around a status is accepted.",
            &["create.status-enum"],
            "white space around a constant, trimmed",
        )
        .edit(|request, _| {
            request.edit_object(|pet| {
                if let Some(status) = pet.get("status").and_then(Value::as_str).map(|status| status.trim().to_owned()) {
                    pet.insert("status".to_owned(), json!(status));
                }
            });
        }),
    ]
}

/// A fault that answers some creations with this status.
pub(super) fn failing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    which: impl Fn(&Request) -> bool + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |request, response, _| {
        if request.is_create() && ![401, 429].contains(&response.status) && which(request) {
            response.refuse(status);
        }
    })
}

fn failing_readers() -> Vec<Fault> {
    let holds = |request: &Request, text: &str| request.body.windows(text.len()).any(|part| part == text.as_bytes());
    vec![
        failing(
            "half-pair-crash",
            "Half of a surrogate pair is answered with 500.",
            &["create.malformed-json"],
            "half of a surrogate pair that cannot be encoded again",
            500,
            move |request| holds(request, r"\ud800"),
        ),
        fault(
            "half-pair-stored",
            "After half of a surrogate pair was stored, lists are answered with 500.",
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
            "A number of a thousand digits is answered with 500.",
            &["create.category-int64"],
            "a conversion with a bound on digits, whose exception nobody catches",
            500,
            move |request| holds(request, &"9".repeat(1_000)),
        ),
        failing(
            "nesting-crash",
            "A thousand levels of nesting are answered with 500.",
            &["create.success"],
            "a parser that calls itself for each level until the stack ends",
            500,
            move |request| holds(request, &"[".repeat(1_000)),
        ),
        failing(
            "large-crash",
            "A body over 64 KiB is answered with 500.",
            &["create.success"],
            "a buffer that is too small, and no check",
            500,
            |request| request.body.len() > 64 * 1024,
        ),
        failing(
            "larger-crash",
            "A body over 100 KiB is answered with 500.",
            &["create.success"],
            "an error of the reader, at its default bound, that nothing handles",
            500,
            |request| request.body.len() > 100 * 1024,
        ),
        failing(
            "small-limit",
            "A body over 1 KiB is answered with 413.",
            &["create.success"],
            "a bound of one kibibyte, for all bodies",
            413,
            |request| request.body.len() > 1024,
        ),
        fault(
            "comma-at-the-end",
            "A comma after the last member is allowed.",
            &["create.extended-json"],
            "a parser for configuration files",
        )
        .edit(|request, _| {
            if request.is_create() && request.body.ends_with(b",}") {
                request.body.truncate(request.body.len() - 2);
                request.body.push(b'}');
            }
        }),
        failing(
            "nought-crash",
            "An animal of the category 0 is answered with 500.",
            &["create.success"],
            "a foreign key that no row has, and an exception that nobody catches",
            500,
            |request| request.object().is_some_and(|pet| pet.get("categoryId") == Some(&json!(0))),
        ),
        failing(
            "negative-crash",
            "An animal of a negative category is answered with 500.",
            &["create.success"],
            "a column without a sign, and an exception that nobody catches",
            500,
            |request| {
                request
                    .object()
                    .is_some_and(|pet| pet.get("categoryId").and_then(Value::as_i64).is_some_and(i64::is_negative))
            },
        ),
        failing(
            "exponent-crash",
            "A number with an exponent is answered with 500.",
            &["create.success"],
            "a conversion of digits, whose exception nobody catches",
            500,
            move |request| holds(request, "1e0"),
        ),
        failing(
            "text-crash",
            "A body labelled as text is answered with 500.",
            &["create.malformed-json"],
            "a parser that is chosen by the media type, and none for this one",
            500,
            |request| request.header("content-type").starts_with("text/"),
        ),
    ]
}
