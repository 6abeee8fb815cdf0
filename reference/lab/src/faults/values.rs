//! Add an animal: wrong values and bodies.

use serde_json::{Value, json};

use super::{Fault, fault, is_status};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    [types(), statuses(), bodies()].into_iter().flatten().collect()
}

fn types() -> Vec<Fault> {
    vec![
        fault("names-from-numbers", &["create.name-type"])
            .does("A number or a boolean is taken for a name.")
            .like("a mapper that makes strings of scalars")
            .reads("name", |name| (name.is_number() || name.is_boolean()).then(|| json!(name.to_string()))),
        fault("null-is-a-name", &["create.name-type"])
            .does("null is taken for a name.")
            .like("a check that the member is there, not what it is")
            .takes("name", Value::Null, "null"),
        fault("names-of-objects", &["create.name-type"])
            .does("An object or an array is taken for a name.")
            .like("whatever is there, printed")
            .reads("name", |name| (name.is_object() || name.is_array()).then(|| json!(name.to_string()))),
        fault("numbers-from-strings", &["create.category-type"])
            .does("A string of digits is taken for a category id.")
            .like("a mapper that reads numbers out of strings")
            .reads("categoryId", |id| Some(json!(id.as_str()?.parse::<i64>().ok()?))),
        fault("true-is-one", &["create.category-type"])
            .does("A boolean is taken for a category id.")
            .like("a language in which true is a number")
            .reads("categoryId", |id| Some(json!(i64::from(id.as_bool()?)))),
        fault("true-is-a-name", &["create.name-type"])
            .does("true is taken for a name.")
            .like("whatever is true, as text")
            .takes("name", true, "true"),
        fault("empty-is-nought", &["create.category-type"])
            .does("An empty string is taken for a category id.")
            .like("an empty text that is zero as a number")
            .takes("categoryId", "", 0),
        fault("null-is-nought", &["create.category-type"])
            .does("null is taken for a category id.")
            .like("a primitive that cannot be null")
            .takes("categoryId", Value::Null, 0),
        fault("cut-fractions", &["create.category-int64"])
            .does("The fraction of a category id is dropped.")
            .like("a cast that drops what follows the point")
            .reads("categoryId", |id| {
                let number = id.as_f64().filter(|number| number.fract() != 0.0)?;
                Some(json!(number.trunc().to_string().parse::<i64>().unwrap_or(0)))
            }),
        fault("wraps-round", &["create.category-int64"])
            .does("A category id beyond int64 becomes a negative one.")
            .like("arithmetic that wraps round")
            .reads("categoryId", |id| Some(json!(id.as_u64()?.cast_signed()))),
        fault("nearest-double", &["create.echo"])
            .does("A category id near the largest int64 becomes the nearest double.")
            .like("numbers that are doubles on the way, and brought back to the nearest that fits")
            // The nearest double is 2^63.
            .reads("categoryId", |id| {
                Some(json!(i64::MAX)).filter(|_| id.as_i64().is_some_and(|id| id > i64::MAX - 512))
            }),
        fault("saturates", &["create.category-int64"])
            .does("A category id beyond int64 becomes the largest or the smallest.")
            .like("numbers brought back to the nearest that fits")
            .reads("categoryId", |id| {
                let number = id.as_f64().filter(|number| number.abs() > 9e18)?;
                Some(json!(if number.is_sign_negative() { i64::MIN } else { i64::MAX }))
            }),
    ]
}

fn statuses() -> Vec<Fault> {
    vec![
        fault("any-case-status", &["create.status-enum"])
            .does("A status in another case is accepted.")
            .like("enumerations read without regard to case")
            .reads("status", |status| Some(json!(status.as_str()?.to_lowercase()))),
        fault("true-is-available", &["create.status-enum"])
            .does("The status true is accepted.")
            .like("whatever is true, taken for the first constant")
            .takes("status", true, "available"),
        fault("unknown-status-is-none", &["create.status-enum"])
            .does("An unknown status counts as none.")
            .like("an unknown constant that becomes none")
            .edit_created(|pet| {
                if pet.get("status").is_some_and(|status| !status.as_str().is_some_and(is_status)) {
                    pet.remove("status");
                }
            }),
        fault("status-by-number", &["create.status-enum"])
            .does("A number is accepted as a status.")
            .like("enumerations that may be given by their number")
            .reads("status", |status| status.is_number().then(|| json!("available"))),
        fault("one-status-of-many", &["create.status-enum"])
            .does("An array is accepted as a status.")
            .like("the first of a list where one value is meant")
            .reads("status", |status| Some(status.as_array()?.first().cloned().unwrap_or_default())),
    ]
}

fn bodies() -> Vec<Fault> {
    let is_malformed = |request: &Request| !request.body.is_empty() && request.json().is_none();
    vec![
        fault("empty-crash", &["create.body-required"])
            .does("An empty body is answered with 500.")
            .like("a body that is used before it is looked at")
            .turns(400, 500, |request| request.is_create() && request.body.is_empty()),
        fault("empty-is-unsupported", &["create.body-required"])
            .does("An empty body is answered with 415.")
            .like("no body, and so no label: 415")
            .turns(400, 415, |request| request.is_create() && request.body.is_empty()),
        fault("null-crash", &["create.body-required"])
            .does("The body null is answered with 500.")
            .like("null where an object is expected")
            .turns(400, 500, |request| request.is_create() && request.json() == Some(Value::Null)),
        fault("first-of-an-array", &["create.body-required"])
            .does("An array of animals creates its first one.")
            .like("a bulk operation that was left in")
            .edit(|request, _| {
                if let Some(Value::Array(pets)) = request.json().filter(|_| request.is_create())
                    && let Some(first) = pets.into_iter().next()
                {
                    request.set_json(first);
                }
            }),
        fault("parser-crash", &["create.malformed-json"])
            .does("A body that is not JSON is answered with 500.")
            .like("a parser's exception that nobody catches")
            .turns(400, 500, move |request| request.is_create() && is_malformed(request)),
        fault("mends-json", &["create.malformed-json"])
            .does("A body that lacks its last brace creates an animal.")
            .like("a parser that closes what was left open")
            .edit(move |request, _| {
                if request.is_create() && is_malformed(request) {
                    request.body.push(b'}');
                }
            }),
    ]
}
