//! Add an animal: bodies that are hard to read, and readers that read too much into them.

use serde_json::{Value, json};

use super::{Fault, Members, fault, set_missing};
use crate::Request;
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    [lenient_readers(), failing_readers()].into_iter().flatten().collect()
}

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

fn lenient_readers() -> Vec<Fault> {
    vec![
        fault("members-in-any-case", &["create.name-required", "create.category-required"])
            .does("Members called Name and CategoryId are taken for the described ones.")
            .like("a decoder that matches the names of members without regard to case")
            .edit_created(|pet| {
                call(pet, "Name", "name");
                call(pet, "CategoryId", "categoryId");
            }),
        fault("positional", &["create.body-required"])
            .does("An array of a name, a category and a status is taken for an animal.")
            .like("a reader that serde derives for a struct, which takes a sequence as well")
            .edit(|request, _| {
                if let Some(Value::Array(values)) = request.json().filter(|_| request.is_create())
                    && let [name, category, status] = values.as_slice()
                {
                    request.set_json(json!({"name": name, "categoryId": category, "status": status}));
                }
            }),
        fault("variant-with-null", &["create.status-enum"])
            .does("An object whose one member is called as a status and is null is taken for that status.")
            .like("a reader that serde derives for an enumeration, which takes a map of one variant as well")
            .reads("status", |status| {
                let (name, value) = status.as_object().filter(|variant| variant.len() == 1)?.iter().next()?;
                value.is_null().then(|| json!(name))
            }),
        fault("one-value-of-many", &["create.malformed-json"])
            .does("What follows the first JSON value of a body is ignored.")
            .like("a decoder of streams that leaves the rest unread")
            .edit(|request, _| {
                let mut values = serde_json::Deserializer::from_slice(&request.body).into_iter::<Value>();
                if let (true, Some(Ok(first))) = (request.is_create(), values.next()) {
                    let rest = request.body[values.byte_offset()..].to_vec();
                    if !rest.iter().all(u8::is_ascii_whitespace) {
                        request.set_json(first);
                    }
                }
            }),
        fault("leading-noughts", &["create.extended-json"])
            .does("007 is accepted as a number.")
            .like("numbers read by a function of the language")
            .replaces(":007", ":7"),
        fault("signed-numbers", &["create.extended-json"])
            .does("+1 is accepted as a number.")
            .like("a sign that every function for numbers takes")
            .replaces(":+1", ":1"),
        fault("not-a-number", &["create.malformed-json"])
            .does("NaN is accepted as a number.")
            .like("NaN taken for a number, and stored as zero")
            .replaces(":NaN", ":0"),
        fault("replacement-characters", &["create.malformed-json"])
            .does("A body that is not UTF-8 creates an animal.")
            .like("bytes decoded with replacement characters")
            .edit(|request, _| {
                if request.is_create() && std::str::from_utf8(&request.body).is_err() {
                    request.body = String::from_utf8_lossy(&request.body).into_owned().into_bytes();
                }
            }),
        fault("trimmed-status", &["create.status-enum"])
            .does("White space around a status is accepted.")
            .like("white space around a constant, trimmed")
            .reads("status", |status| Some(json!(status.as_str()?.trim()))),
    ]
}

fn failing_readers() -> Vec<Fault> {
    vec![
        fault("half-pair-crash", &["create.malformed-json"])
            .does("Half of a surrogate pair is answered with 500.")
            .like("half of a surrogate pair that cannot be encoded again")
            .fails(500, |request| request.holds(r"\ud800")),
        fault("half-pair-stored", &["list.success"])
            .does("After half of a surrogate pair was stored, lists are answered with 500.")
            .like("half of a surrogate pair that is stored, and that no list can be written with")
            .after(|request, response, server| {
                if request.is_create() && response.status == 400 && request.holds(r"\ud800") {
                    let pet = json!({"id": 900_000, "name": "half", "categoryId": 1});
                    server.memory().ghosts.push(pet.clone());
                    response.become_json(201, pet);
                }
                if request.is_list() && response.status == 200 && !server.memory().ghosts.is_empty() {
                    response.refuse(500);
                }
            }),
        fault("digits-crash", &["create.category-int64"])
            .does("A number of a thousand digits is answered with 500.")
            .like("a conversion with a bound on digits, whose exception nobody catches")
            .fails(500, |request| request.holds(&"9".repeat(1_000))),
        fault("nesting-crash", &["create.success"])
            .does("A thousand levels of nesting are answered with 500.")
            .like("a parser that calls itself for each level until the stack ends")
            .fails(500, |request| request.holds(&"[".repeat(1_000))),
        fault("large-crash", &["create.success"])
            .does("A body over 64 KiB is answered with 500.")
            .like("a buffer that is too small, and no check")
            .fails(500, |request| request.body.len() > 64 * 1024),
        fault("larger-crash", &["create.success"])
            .does("A body over 100 KiB is answered with 500.")
            .like("an error of the reader, at its default bound, that nothing handles")
            .fails(500, |request| request.body.len() > 100 * 1024),
        fault("small-limit", &["create.success"])
            .does("A body over 1 KiB is answered with 413.")
            .like("a bound of one kibibyte, for all bodies")
            .fails(413, |request| request.body.len() > 1024),
        fault("comma-at-the-end", &["create.extended-json"])
            .does("A comma after the last member is allowed.")
            .like("a parser for configuration files")
            .rereads(|text| Some(format!("{}}}", text.strip_suffix(",}")?))),
        fault("nought-crash", &["create.success"])
            .does("An animal of the category 0 is answered with 500.")
            .like("a foreign key that no row has, and an exception that nobody catches")
            .fails(500, |request| category_of(request) == Some(0)),
        fault("negative-crash", &["create.success"])
            .does("An animal of a negative category is answered with 500.")
            .like("a column without a sign, and an exception that nobody catches")
            .fails(500, |request| category_of(request).is_some_and(i64::is_negative)),
        fault("exponent-crash", &["create.success"])
            .does("A number with an exponent is answered with 500.")
            .like("a conversion of digits, whose exception nobody catches")
            .fails(500, |request| request.holds("1e0")),
        fault("infinite-crash", &["create.category-int64"])
            .does("A number that is infinite as a double is answered with 500.")
            .like("a conversion of a double to an integer, whose exception nobody catches")
            .fails(500, |request| request.holds("1e400")),
        fault("unlabelled-crash", &["create.malformed-json"])
            .does("A body without a media type is answered with 500.")
            .like("a field that is used before it is looked for")
            .fails(500, |request| !request.body.is_empty() && request.header("content-type").is_empty()),
        fault("charset-415", &["create.success"])
            .does("A body whose media type has a charset is answered with 415.")
            .like("a comparison of the whole field with application/json")
            .fails(415, |request| request.header("content-type").contains("charset")),
        fault("narrow-bytes", &["create.success"])
            .does("A name of at most 255 characters and more than 255 bytes is answered with 500.")
            .like("a check of characters, and a column of bytes")
            .on(Plan::Pro)
            .fails(500, |request| {
                let name = request.object().and_then(|pet| pet.get("name")?.as_str().map(str::to_owned));
                name.is_some_and(|name| name.len() > 255 && name.chars().count() <= 255)
            }),
        fault("text-crash", &["create.malformed-json"])
            .does("A body labelled as text is answered with 500.")
            .like("a parser that is chosen by the media type, and none for this one")
            .fails(500, |request| request.header("content-type").starts_with("text/")),
    ]
}
