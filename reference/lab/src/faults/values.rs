//! Add an animal: wrong values and bodies.

use serde_json::{Value, json};

use super::create::{Members, lenient, refusing};
use super::{Fault, fault};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    [types(), statuses(), bodies()].into_iter().flatten().collect()
}

fn types() -> Vec<Fault> {
    vec![
        lenient(
            "names-from-numbers",
            "A number or a boolean is taken for a name.",
            &["create.name-type"],
            "a mapper that makes strings of scalars",
            |pet| {
                if let Some(name @ (Value::Number(_) | Value::Bool(_))) = pet.get("name") {
                    pet.insert("name".to_owned(), json!(name.to_string()));
                }
            },
        ),
        lenient(
            "null-is-a-name",
            "null is taken for a name.",
            &["create.name-type"],
            "a check that the member is there, not what it is",
            |pet| {
                if pet.get("name") == Some(&Value::Null) {
                    pet.insert("name".to_owned(), json!("null"));
                }
            },
        ),
        lenient(
            "names-of-objects",
            "An object or an array is taken for a name.",
            &["create.name-type"],
            "whatever is there, printed",
            |pet| {
                if let Some(name @ (Value::Object(_) | Value::Array(_))) = pet.get("name") {
                    pet.insert("name".to_owned(), json!(name.to_string()));
                }
            },
        ),
        lenient(
            "numbers-from-strings",
            "A string of digits is taken for a category id.",
            &["create.category-type"],
            "a mapper that reads numbers out of strings",
            |pet| {
                if let Some(number) = pet.get("categoryId").and_then(Value::as_str).and_then(|t| t.parse::<i64>().ok())
                {
                    pet.insert("categoryId".to_owned(), json!(number));
                }
            },
        ),
        lenient(
            "true-is-one",
            "A boolean is taken for a category id.",
            &["create.category-type"],
            "a language in which true is a number",
            |pet| {
                if let Some(Value::Bool(yes)) = pet.get("categoryId") {
                    pet.insert("categoryId".to_owned(), json!(i64::from(*yes)));
                }
            },
        ),
        lenient(
            "true-is-a-name",
            "true is taken for a name.",
            &["create.name-type"],
            "whatever is true, as text",
            |pet| {
                if pet.get("name") == Some(&Value::Bool(true)) {
                    pet.insert("name".to_owned(), json!("true"));
                }
            },
        ),
        lenient(
            "empty-is-nought",
            "An empty string is taken for a category id.",
            &["create.category-type"],
            "an empty text that is nought as a number",
            |pet| {
                if pet.get("categoryId") == Some(&json!("")) {
                    pet.insert("categoryId".to_owned(), json!(0));
                }
            },
        ),
        lenient(
            "null-is-nought",
            "null is taken for a category id.",
            &["create.category-type"],
            "a primitive that cannot be null",
            |pet| {
                if pet.get("categoryId") == Some(&Value::Null) {
                    pet.insert("categoryId".to_owned(), json!(0));
                }
            },
        ),
        lenient(
            "cut-fractions",
            "The fraction of a category id is dropped.",
            &["create.category-int64"],
            "a cast that drops what follows the point",
            |pet| {
                if let Some(number) = pet.get("categoryId").and_then(Value::as_f64).filter(|n| n.fract() != 0.0) {
                    pet.insert("categoryId".to_owned(), json!(number.trunc().to_string().parse::<i64>().unwrap_or(0)));
                }
            },
        ),
        lenient(
            "wraps-round",
            "A category id beyond int64 becomes a negative one.",
            &["create.category-int64"],
            "arithmetic that wraps round",
            |pet| {
                if let Some(number) = pet.get("categoryId").and_then(Value::as_u64) {
                    pet.insert("categoryId".to_owned(), json!(number.cast_signed()));
                }
            },
        ),
        lenient(
            "saturates",
            "A category id beyond int64 becomes the largest or the smallest.",
            &["create.category-int64"],
            "numbers brought back to the nearest that fits",
            |pet| {
                if pet.get("categoryId").is_some_and(|c| c.is_number() && c.as_f64().is_some_and(|n| n.abs() > 9e18)) {
                    let sign = pet["categoryId"].as_f64().unwrap_or(0.0).is_sign_negative();
                    pet.insert("categoryId".to_owned(), json!(if sign { i64::MIN } else { i64::MAX }));
                }
            },
        ),
    ]
}

fn statuses() -> Vec<Fault> {
    let lower = |pet: &Members| pet.get("status").and_then(Value::as_str).map(str::to_lowercase);
    vec![
        lenient(
            "any-case-status",
            "A status in another case is accepted.",
            &["create.status-enum"],
            "enumerations read without regard to case",
            move |pet| {
                if let Some(status) = lower(pet) {
                    pet.insert("status".to_owned(), json!(status));
                }
            },
        ),
        lenient(
            "true-is-available",
            "The status true is accepted.",
            &["create.status-enum"],
            "whatever is true, taken for the first constant",
            |pet| {
                if pet.get("status") == Some(&Value::Bool(true)) {
                    pet.insert("status".to_owned(), json!("available"));
                }
            },
        ),
        lenient(
            "unknown-status-is-none",
            "An unknown status counts as none.",
            &["create.status-enum"],
            "an unknown constant that becomes none",
            |pet| {
                if pet.get("status").is_some_and(|s| !["available", "pending", "sold"].iter().any(|known| s == known)) {
                    pet.remove("status");
                }
            },
        ),
        lenient(
            "status-by-number",
            "A number is accepted as a status.",
            &["create.status-enum"],
            "enumerations that may be given by their number",
            |pet| {
                if let Some(Value::Number(_)) = pet.get("status") {
                    pet.insert("status".to_owned(), json!("available"));
                }
            },
        ),
        lenient(
            "one-status-of-many",
            "An array is accepted as a status.",
            &["create.status-enum"],
            "the first of a list where one value is meant",
            |pet| {
                if let Some(Value::Array(statuses)) = pet.get("status") {
                    pet.insert("status".to_owned(), statuses.first().cloned().unwrap_or_default());
                }
            },
        ),
    ]
}

fn bodies() -> Vec<Fault> {
    let is_malformed = |request: &Request| !request.body.is_empty() && request.json().is_none();
    vec![
        refusing(
            "empty-crash",
            "An empty body is answered with 500.",
            &["create.body-required"],
            "a body that is used before it is looked at",
            500,
            |request| request.body.is_empty(),
        ),
        refusing(
            "empty-is-unsupported",
            "An empty body is answered with 415.",
            &["create.body-required"],
            "no body, and so no label: 415",
            415,
            |request| request.body.is_empty(),
        ),
        refusing(
            "null-crash",
            "The body null is answered with 500.",
            &["create.body-required"],
            "null where an object is expected",
            500,
            |request| request.json() == Some(Value::Null),
        ),
        fault(
            "first-of-an-array",
            "An array of animals creates its first one.",
            &["create.body-required"],
            "a bulk operation that was left in",
        )
        .edit(|request, _| {
            if let Some(Value::Array(pets)) = request.json().filter(|_| request.is_create())
                && let Some(first) = pets.into_iter().next()
            {
                request.set_json(first);
            }
        }),
        refusing(
            "parser-crash",
            "A body that is not JSON is answered with 500.",
            &["create.malformed-json"],
            "a parser's exception that nobody catches",
            500,
            is_malformed,
        ),
        fault(
            "mends-json",
            "A body that lacks its last brace creates an animal.",
            &["create.malformed-json"],
            "a parser that closes what was left open",
        )
        .edit(move |request, _| {
            if request.is_create() && is_malformed(request) {
                request.body.push(b'}');
            }
        }),
    ]
}
