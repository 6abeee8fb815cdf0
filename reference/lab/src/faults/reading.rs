//! Add an animal: bodies that are hard to read, and readers that read too much into them.

use serde_json::{Value, json};

use super::{Builds, Fault, Members, fault, set_missing};
use crate::Request;
use animal_store_reference::Plan;

impl Fault {
    /// Changes the text of some bodies of creations before the reference reads it.
    pub(super) fn rereads(self, change: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Fault {
        self.edit(move |request, _| {
            if request.is_create()
                && let Some(text) = str::from_utf8(&request.body).ok().and_then(&change)
            {
                request.body = text.into_bytes();
            }
        })
    }

    /// Reads a text in the bodies of creations as another text.
    pub(super) fn replaces(self, from: &'static str, to: &'static str) -> Fault {
        self.rereads(move |text| text.contains(from).then(|| text.replace(from, to)))
    }
}

/// Takes a member of another name for a member that an animal lacks.
pub(super) fn call(pet: &mut Members, other: &str, member: &str) {
    if let Some(value) = pet.get(other).cloned() {
        set_missing(pet, member, value);
    }
}

/// The category in the body of a request.
fn category_of(request: &Request) -> Option<i64> {
    request.object()?.get("categoryId")?.as_i64()
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Readers that accept too much.
        fault("create.name-required.members-in-any-case", "Name and CategoryId are taken for name and categoryId.")
            .also(&["create.category-required"])
            .edit_created(|pet| {
                call(pet, "Name", "name");
                call(pet, "CategoryId", "categoryId");
            }),
        fault("create.body-required.positional", "An array of a name, a category and a status is taken for an animal.")
            .like("a reader that serde derives for a struct, which takes a sequence as well")
            .edit(|request, _| {
                if let Some(Value::Array(values)) = request.json().filter(|_| request.is_create())
                    && let [name, category, status] = values.as_slice()
                {
                    request.set_json(json!({"name": name, "categoryId": category, "status": status}));
                }
            }),
        fault("create.status-enum.variant-with-null", "An object whose one member is a status and null is taken.")
            .like("a reader that serde derives for an enumeration, which takes a map of one variant as well")
            .reads("status", |status| {
                let (name, value) = status.as_object().filter(|variant| variant.len() == 1)?.iter().next()?;
                value.is_null().then(|| json!(name))
            }),
        fault("create.extended-json.one-value-of-many", "What follows the first JSON value of a body is ignored.")
            .edit(|request, _| {
                let mut values = serde_json::Deserializer::from_slice(&request.body).into_iter::<Value>();
                if let (true, Some(Ok(first))) = (request.is_create(), values.next()) {
                    let rest = request.body[values.byte_offset()..].to_vec();
                    if !rest.iter().all(u8::is_ascii_whitespace) {
                        request.set_json(first);
                    }
                }
            }),
        fault("create.extended-json.leading-zeros", "007 and the like are accepted as numbers.").replaces(":00", ":"),
        fault("create.extended-json.signed-numbers", "+1 is accepted as a number.").replaces(":+1", ":1"),
        fault("create.malformed-json.not-a-number", "NaN is accepted as a number.").replaces(":NaN", ":0"),
        fault("create.extended-json.replacement-characters", "Broken UTF-8 creates an animal.").edit(|request, _| {
            if request.is_create() && std::str::from_utf8(&request.body).is_err() {
                request.body = String::from_utf8_lossy(&request.body).into_owned().into_bytes();
            }
        }),
        fault("create.status-enum.trimmed-status", "White space around a status is accepted.")
            .reads("status", |status| Some(json!(status.as_str()?.trim()))),
        // Readers that fail.
        fault("create.malformed-json.half-pair-crash", "Half of a surrogate pair gets 500.")
            .fails(500, |request| request.holds(r"\ud800")),
        fault("list.success.half-pair-stored", "After half of a surrogate pair was stored, lists get 500.").after(
            |request, response, server| {
                if request.is_create() && response.status == 400 && request.holds(r"\ud800") {
                    let pet = json!({"id": 900_000, "name": "half", "categoryId": 1});
                    server.own(|stored: &mut bool| *stored = true);
                    response.become_json(201, pet);
                }
                if request.is_list() && response.status == 200 && server.own(|stored: &mut bool| *stored) {
                    response.refuse(500);
                }
            },
        ),
        fault("create.category-int64.digits-crash", "A number of a thousand digits gets 500.")
            .fails(500, |request| request.holds(&"9".repeat(1_000))),
        fault("create.success.nesting-crash", "A thousand levels of nesting get 500.")
            .fails(500, |request| request.holds(&"[".repeat(1_000))),
        fault("create.success.large-crash", "A body over 64 KiB gets 500.")
            .fails(500, |request| request.body.len() > 64 * 1024),
        fault("create.success.larger-crash", "A body over 100 KiB gets 500.")
            .fails(500, |request| request.body.len() > 100 * 1024),
        fault("create.success.small-limit", "A body over 1 KiB gets 413.")
            .fails(413, |request| request.body.len() > 1024),
        fault("create.extended-json.comma-at-the-end", "A comma after the last member is allowed.")
            .rereads(|text| Some(format!("{}}}", text.strip_suffix(",}")?))),
        fault("create.success.zero-crash", "An animal of the category 0 gets 500.")
            .fails(500, |request| category_of(request) == Some(0)),
        fault("create.success.negative-crash", "An animal of a negative category gets 500.")
            .fails(500, |request| category_of(request).is_some_and(i64::is_negative)),
        fault("create.success.exponent-crash", "A number with an exponent gets 500.")
            .fails(500, |request| request.holds("1e0")),
        fault("create.category-int64.infinite-crash", "A number that is infinite as a double gets 500.")
            .fails(500, |request| request.holds("1e400")),
        fault("create.malformed-json.unlabelled-crash", "A body without a media type gets 500.")
            .fails(500, |request| !request.body.is_empty() && request.header("content-type").is_empty()),
        fault("create.success.charset-415", "A body whose media type has a charset gets 415.")
            .fails(415, |request| request.header("content-type").contains("charset")),
        fault("create.success.narrow-bytes", "A name of up to 255 characters in more than 255 bytes gets 500.")
            .on(Plan::Pro)
            .fails(500, |request| {
                let name = request.object().and_then(|pet| pet.get("name")?.as_str().map(str::to_owned));
                name.is_some_and(|name| name.len() > 255 && name.chars().count() <= 255)
            }),
        fault("create.malformed-json.text-crash", "A body labelled as text gets 500.")
            .fails(500, |request| request.header("content-type").starts_with("text/")),
    ]
}
