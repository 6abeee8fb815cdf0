//! Add an animal: wrong values and bodies.

use serde_json::{Value, json};

use super::{Builds, Fault, fault, is_status};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    let is_malformed = |request: &Request| !request.body.is_empty() && request.json().is_none();
    vec![
        // Types.
        fault("create.name-type.names-from-numbers", "A number or a boolean is taken for a name.")
            .reads("name", |name| (name.is_number() || name.is_boolean()).then(|| json!(name.to_string()))),
        fault("create.name-type.null-is-a-name", "null is taken for a name.").takes("name", Value::Null, "null"),
        fault("create.name-type.names-of-objects", "An object or an array is taken for a name.")
            .reads("name", |name| (name.is_object() || name.is_array()).then(|| json!(name.to_string()))),
        fault("create.category-type.numbers-from-strings", "A string of digits is taken for a category id.")
            .reads("categoryId", |id| Some(json!(id.as_str()?.parse::<i64>().ok()?))),
        fault("create.category-type.true-is-one", "A boolean is taken for a category id.")
            .reads("categoryId", |id| Some(json!(i64::from(id.as_bool()?)))),
        fault("create.name-type.true-is-a-name", "true is taken for a name.").takes("name", true, "true"),
        fault("create.category-type.empty-is-zero", "An empty string is taken for 0.").takes("categoryId", "", 0),
        fault("create.category-type.null-is-zero", "null is taken for 0.").takes("categoryId", Value::Null, 0),
        fault("create.category-int64.cut-fractions", "The fraction of a category is cut.").reads("categoryId", |id| {
            let number = id.as_f64().filter(|number| number.fract() != 0.0)?;
            Some(json!(number.trunc().to_string().parse::<i64>().unwrap_or(0)))
        }),
        fault("create.category-int64.wraps-round", "A category id beyond int64 becomes a negative one.")
            .reads("categoryId", |id| Some(json!(id.as_u64()?.cast_signed()))),
        fault("create.echo.nearest-double", "A category id near the largest int64 becomes the nearest double.")
            // The nearest double is 2^63.
            .reads("categoryId", |id| {
                Some(json!(i64::MAX)).filter(|_| id.as_i64().is_some_and(|id| id > i64::MAX - 512))
            }),
        fault("create.category-int64.saturates", "A category id beyond int64 becomes the largest or the smallest.")
            .reads("categoryId", |id| {
                let number = id.as_f64().filter(|number| number.abs() > 9e18)?;
                Some(json!(if number.is_sign_negative() { i64::MIN } else { i64::MAX }))
            }),
        // Statuses.
        fault("create.status-enum.any-case-status", "A status in another case is accepted.")
            .reads("status", |status| Some(json!(status.as_str()?.to_lowercase()))),
        fault("create.status-enum.true-is-available", "A status of true is taken.").takes("status", true, "available"),
        fault("create.status-enum.unknown-status-is-none", "An unknown status counts as none.").edit_created(|pet| {
            if pet.get("status").is_some_and(|status| !status.as_str().is_some_and(is_status)) {
                pet.remove("status");
            }
        }),
        fault("create.status-enum.status-by-number", "A number is accepted as a status.")
            .reads("status", |status| status.is_number().then(|| json!("available"))),
        fault("create.status-enum.one-status-of-many", "An array is accepted as a status.")
            .reads("status", |status| Some(status.as_array()?.first().cloned().unwrap_or_default())),
        // Whole bodies.
        fault("create.body-required.empty-crash", "An empty body gets 500.")
            .turns(400, 500, |request| request.is_create() && request.body.is_empty()),
        fault("create.body-required.empty-is-unsupported", "An empty body gets 415.")
            .turns(400, 415, |request| request.is_create() && request.body.is_empty()),
        fault("create.body-required.null-crash", "The body null gets 500.")
            .turns(400, 500, |request| request.is_create() && request.json() == Some(Value::Null)),
        fault("create.body-required.first-of-an-array", "An array creates its first animal.").edit(|request, _| {
            if let Some(Value::Array(pets)) = request.json().filter(|_| request.is_create())
                && let Some(first) = pets.into_iter().next()
            {
                request.set_json(first);
            }
        }),
        fault("create.malformed-json.parser-crash", "A body that is not JSON is answered with 500.").turns(
            400,
            500,
            move |request| request.is_create() && is_malformed(request),
        ),
        fault("create.malformed-json.mends-json", "A body without its last brace is read.").edit(move |request, _| {
            if request.is_create() && is_malformed(request) {
                request.body.push(b'}');
            }
        }),
    ]
}
