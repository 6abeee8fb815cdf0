//! Add an animal: responses, members that are required, and wrong values.

use serde_json::{Value, json};

use super::{Builds, Fault, Selects, any, change, fault, is_status, set, set_missing};
use crate::{Request, Response, ServerState};

/// Returns true for a creation whose body is not JSON.
fn is_malformed(request: &Request) -> bool {
    request.is_create() && !request.body.is_empty() && request.json().is_none()
}

/// A text with a capital as its first letter.
fn capitalised(text: &str) -> Option<String> {
    let mut letters = text.chars();
    Some(letters.next()?.to_uppercase().chain(letters).collect())
}

/// A text with a capital as the first letter of each word.
fn in_title_case(text: &Value) -> Option<Value> {
    Some(text.as_str()?.split_inclusive(' ').filter_map(capitalised).collect::<String>().into())
}

/// Animals that only a fault knows.
#[derive(Default)]
pub(super) struct Kept(pub(super) Vec<Value>);

/// Keeps the animal that a creation names, although it was refused.
fn keep(request: &Request, server: &ServerState) {
    if let Some(name) = request.name() {
        server.own(|Kept(pets)| {
            let id = 900_000 + pets.len();
            pets.push(json!({"id": id, "name": name, "categoryId": 1, "status": "available"}));
        });
    }
}

/// Lists the kept animals beside the animals that the reference lists.
pub(super) fn show_kept(request: &Request, response: &mut Response, server: &ServerState) {
    let limit = request.page_size();
    let kept = server.own(|Kept(pets)| pets.clone());
    response.edit_list(request, |pets| {
        pets.splice(0..0, kept.into_iter().filter(|pet| request.selects(pet)));
        pets.truncate(limit);
    });
}

impl Fault {
    /// Stores the animals of some creations that are refused with a status.
    pub(super) fn stores_refused(self, status: u16, which: impl Selects) -> Fault {
        self.after(move |request, response, server| {
            if request.is_create() && response.status == status && which(request) {
                keep(request, server);
            }
            show_kept(request, response, server);
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Answers to creations.
        fault("create.success.created-is-200", "A creation gets 200.")
            .answered(201, |_, response, _| response.status = 200),
        fault("create.success.created-is-202", "A creation gets 202.")
            .answered(201, |_, response, _| response.status = 202),
        fault("create.success.status-required", "A creation without a status is refused.")
            .edit_created(|pet| set_missing(pet, "status", Value::Null)),
        fault("create.echo.title-case", "The 201 capitalises each word of the name.")
            .shows_in(Request::is_create, |pet| change(pet, "name", in_title_case)),
        fault("create.echo.capitalised", "The first letter of a name is made a capital.").renames(capitalised),
        fault("create.echo.as-from-a-form", "A plus sign in a name becomes a space.")
            .renames(|name| Some(name.replace('+', " "))),
        fault("create.echo.escaped", "A quote in a name is doubled.").renames(|name| Some(name.replace('\'', "''"))),
        fault("create.echo.bytes-as-letters", "Letters beyond ASCII in a name become several.")
            .renames(|name| (!name.is_ascii()).then(|| name.bytes().map(char::from).collect())),
        fault("create.echo.single-blanks", "Several spaces in a name become one.")
            .renames(|name| Some(name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))),
        fault("create.success.long-names-crash", "A name over 255 characters gets 500.")
            .fails(500, |request| request.name().is_some_and(|name| name.chars().count() > 255)),
        fault("create.echo.categories-as-doubles", "Category ids beyond 2^53 are rounded.")
            .shows(|pet| change(pet, "categoryId", |id| Some((id.as_f64()? as i64).into()))),
        fault("create.echo.always-available", "A new animal is available, whatever status it is given.")
            .reads("status", |status| is_status(status.as_str()?).then(|| json!("available"))),
        fault("create.assigned-id.clients-ids", "The 201 shows the id that was sent.").after(|request, response, _| {
            if let Some(id) = request.member("id").filter(Value::is_i64) {
                response.edit_pets(|pet| set(pet, "id", id.clone()));
            }
        }),
        fault("create.assigned-id.echo-without-id", "The 201 has no id.")
            .shows_in(Request::is_create, |pet| drop(pet.remove("id"))),
        fault("create.assigned-id.id-not-yet-known", "The 201 has the id null.")
            .shows_in(Request::is_create, |pet| set(pet, "id", Value::Null)),
        // Members that are required.
        fault("create.name-required.empty-is-default", "An empty object creates an animal.")
            .rereads_json(|body| body.as_object()?.is_empty().then(|| json!({"name": "", "categoryId": 1}))),
        fault("create.name-required.name-defaults", "A body without a name creates an animal.")
            .edit_created(|pet| set_missing(pet, "name", "")),
        fault("create.name-required.name-422", "A body without a name gets 422.")
            .turns([400, 422], |request| request.lacks("name")),
        fault("create.name-required.name-crash", "A body without a name gets 500.")
            .turns([400, 500], |request| request.lacks("name")),
        fault("create.category-required.category-defaults", "A body without a category creates an animal.")
            .edit_created(|pet| set_missing(pet, "categoryId", 0)),
        fault("create.category-required.category-not-null", "A body without a category is answered with 500.")
            .turns([400, 500], |request| request.lacks("categoryId")),
        fault("create.name-required.everything-422", "Every invalid body gets 422.")
            .also(&["create.category-required", "create.name-type", "create.category-type"])
            .turns([400, 422], Request::is_create),
        // What a refused creation leaves behind.
        fault("create.refused-stores-nothing.stored-then-checked", "A creation refused with 400 stores the animal.")
            .stores_refused(400, any),
        fault("create.refused-stores-nothing.status-checked-last", "A creation refused for its status is stored.")
            .stores_refused(400, |request| request.member("status").is_some()),
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
            .reads("categoryId", |id| (id.as_i64()? > i64::MAX - 512).then(|| json!(i64::MAX))),
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
            pet.retain(|member, value| member != "status" || value.as_str().is_some_and(is_status));
        }),
        fault("create.status-enum.status-by-number", "A number is accepted as a status.")
            .reads("status", |status| status.is_number().then(|| json!("available"))),
        fault("create.status-enum.one-status-of-many", "An array is accepted as a status.")
            .reads("status", |status| Some(status.as_array()?.first().cloned().unwrap_or_default())),
        // Whole bodies.
        fault("create.body-required.empty-crash", "An empty body gets 500.")
            .turns([400, 500], |request| request.is_create() && request.body.is_empty()),
        fault("create.body-required.empty-is-unsupported", "An empty body gets 415.")
            .turns([400, 415], |request| request.is_create() && request.body.is_empty()),
        fault("create.body-required.null-crash", "The body null gets 500.")
            .turns([400, 500], |request| request.is_create() && request.json() == Some(Value::Null)),
        fault("create.body-required.first-of-an-array", "An array creates its first animal.")
            .rereads_json(|body| body.as_array()?.first().cloned()),
        fault("create.malformed-json.parser-crash", "A body that is not JSON is answered with 500.")
            .turns([400, 500], is_malformed),
        fault("create.malformed-json.mends-json", "A body without its last brace is read.")
            .edits(is_malformed, |request| request.body.push(b'}')),
    ]
}
