//! Add an animal: bodies that are hard to read, readers that read too much into them, and values that seldom occur.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Builds, Fault, Members, change, fault, rare, set, set_missing};
use crate::{Request, Response};

/// The body of a creation and the response to it, by the slot in which they are remembered.
type Made = HashMap<Vec<u8>, (Vec<u8>, Response)>;

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

    /// Reads the JSON of some bodies of creations as other JSON.
    pub(super) fn rereads_json(self, change: fn(&Value) -> Option<Value>) -> Fault {
        self.edit(move |request, _| {
            if let Some(other) = request.json().filter(|_| request.is_create()).and_then(|body| change(&body)) {
                request.set_json(other);
            }
        })
    }

    /// Answers a creation with the response to an earlier one of the same body. One is remembered in each slot.
    pub(super) fn replays(self, slot: fn(&Request) -> &[u8]) -> Fault {
        self.before(move |request, server| {
            server.key_of(request).filter(|_| request.is_create())?;
            let (body, response) = server.own(|made: &mut Made| made.get(slot(request)).cloned())?;
            (body == request.body).then_some(response)
        })
        .answered(201, move |request, response, server| {
            let one = (request.body.clone(), response.clone());
            server.own(|made: &mut Made| made.insert(slot(request).to_vec(), one));
        })
    }

    /// Reads a text in the bodies of creations as another text.
    pub(super) fn replaces(self, from: &'static str, to: &'static str) -> Fault {
        self.rereads(move |text| text.contains(from).then(|| text.replace(from, to)))
    }
}

/// Takes a member of another name for a member that an animal lacks.
fn call(pet: &mut Members, other: &str, member: &str) {
    if let Some(value) = pet.get(other).cloned() {
        set_missing(pet, member, value);
    }
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
            .rereads_json(|body| {
                let [name, category, status] = body.as_array()?.as_slice() else { return None };
                Some(json!({"name": name, "categoryId": category, "status": status}))
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
        fault("create.extended-json.replacement-characters", "Broken UTF-8 creates an animal.").edits(
            Request::is_create,
            |request| {
                request.body = String::from_utf8_lossy(&request.body).as_bytes().to_vec();
            },
        ),
        fault("create.status-enum.trimmed-status", "White space around a status is accepted.")
            .reads("status", |status| Some(json!(status.as_str()?.trim()))),
        // Readers that fail.
        fault("create.malformed-json.half-pair-crash", "Half of a surrogate pair gets 500.")
            .fails(500, |request| request.holds(r"\ud800")),
        fault("list.success.half-pair-stored", "After half of a surrogate pair was stored, lists get 500.").after(
            |request, response, server| {
                if request.is_create() && response.status == 400 && request.holds(r"\ud800") {
                    server.is_new("half");
                    response.become_json(201, json!({"id": 900_000, "name": "half", "categoryId": 1}));
                } else if request.is_list() && response.status == 200 && server.has_seen(&"half") {
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
            .fails(500, |request| request.member("categoryId") == Some(json!(0))),
        fault("create.success.negative-crash", "An animal of a negative category gets 500.").fails(500, |request| {
            request.member("categoryId").and_then(|id| id.as_i64()).is_some_and(i64::is_negative)
        }),
        fault("create.success.exponent-crash", "A number with an exponent gets 500.")
            .fails(500, |request| request.holds("1e0")),
        fault("create.category-int64.infinite-crash", "A number that is infinite as a double gets 500.")
            .fails(500, |request| request.holds("1e400")),
        fault("create.malformed-json.unlabelled-crash", "A body without a media type gets 500.")
            .fails(500, |request| !request.body.is_empty() && request.header("content-type").is_empty()),
        fault("create.success.charset-415", "A body whose media type has a charset gets 415.")
            .fails(415, |request| request.header("content-type").contains("charset")),
        rare("create.success.narrow-bytes", "A name of up to 255 characters in more than 255 bytes gets 500.")
            .fails(500, |request| request.name().is_some_and(|name| name.len() > 255 && name.chars().count() <= 255)),
        fault("create.malformed-json.text-crash", "A body labelled as text gets 500.")
            .fails(500, |request| request.header("content-type").starts_with("text/")),
        // Dialects of JSON.
        rare("create.malformed-json.blank-crash", "A body of blanks alone gets 500.")
            .fails(500, |request| !request.body.is_empty() && request.body.trim_ascii().is_empty()),
        rare("create.malformed-json.byte-order-mark-crash", "A body that begins with a byte order mark gets 500.")
            .fails(500, |request| request.body.starts_with("\u{feff}".as_bytes())),
        rare("create.success.repeated-member-crash", "A member that is there twice gets 500.").fails(500, |request| {
            std::str::from_utf8(&request.body).is_ok_and(|text| text.matches("\"status\":").count() > 1)
        }),
        fault("create.extended-json.control-characters", "A control character inside a text is accepted as it is.")
            .like("a parser that takes every character up to the quotation mark, such as Gson")
            .replaces("\t", "\\t"),
        fault("create.extended-json.comments", "Comments in a body are skipped.")
            .like("a parser that skips them by default, such as Ruby's")
            .rereads(|text| {
                let (before, rest) = text.split_once("/*")?;
                Some(format!("{before}{}", rest.split_once("*/")?.1))
            }),
        rare("create.extended-json.single-quotation-marks", "Texts in single quotation marks are accepted.")
            .rereads(|text| text.starts_with("{'").then(|| text.replace('\'', "\""))),
        fault("create.extended-json.bare-members", "Members without quotation marks are accepted.").rereads(|text| {
            let quoted = |text: String, name: &str| text.replace(&format!("{name}:"), &format!("\"{name}\":"));
            let is_bare = text.starts_with("{name:");
            is_bare.then(|| ["name", "categoryId", "status"].into_iter().fold(text.to_owned(), quoted))
        }),
        rare("create.extended-json.any-escape", "A backslash before any letter is skipped.").replaces("\\q", "q"),
        // Other members or values than the described ones are accepted.
        fault("create.name-required.wrapped", "An animal inside another object is accepted.")
            .also(&["create.category-required"])
            .rereads_json(|body| {
                let wrapper = body.as_object().filter(|members| members.len() == 1)?;
                wrapper.get("data").or_else(|| wrapper.get("pet")).filter(|inner| inner.is_object()).cloned()
            }),
        fault("create.category-required.written-otherwise", "category_id is accepted for categoryId.")
            .edit_created(|pet| call(pet, "category_id", "categoryId")),
        rare("create.category-required.another-capital", "categoryID is accepted for categoryId.")
            .edit_created(|pet| call(pet, "categoryID", "categoryId")),
        rare("create.category-type.object-with-an-id", "An object with an id is accepted as the category.")
            .reads("categoryId", |category| category.get("id").cloned()),
        fault("create.category-type.false-is-zero", "false is taken for category 0.").takes("categoryId", false, 0),
        rare("create.status-enum.inherited-status", "A status called like a method of every object is accepted.")
            .edit_created(|pet| pet.retain(|member, value| member != "status" || value != "constructor")),
        // Valid creations whose body or name has a text are refused.
        rare("create.success.escaped-member-unknown", "A member whose name has an escape is not recognised.")
            .fails(400, |request| request.holds("n\\u0061me")),
        rare("create.success.line-breaks-refused", "A body that begins with white space is refused.")
            .fails(400, |request| request.is_create() && request.body.first().is_some_and(u8::is_ascii_whitespace)),
        rare("create.success.constructor-crash", "An animal called constructor gets 500.")
            .fails(500, |request| request.holds("\"constructor\"")),
        // A creation makes no new animal.
        rare("pet.unique-id.replaces-an-animal", "A creation with the id of an animal replaces it.").answered(
            201,
            |request, response, server| {
                let id = request.member("id").or_else(|| request.member("petId")).and_then(|id| id.as_i64());
                if let Some(id) = id.filter(|id| server.pet(*id).is_some()) {
                    response.edit_pets(|pet| set(pet, "id", id));
                }
            },
        ),
        rare("pet.unique-id.sent-again", "A creation like the key's last one gets that one's animal.")
            .replays(|request| request.authorization().as_bytes()),
        // Fetches.
        fault("get.not-found.smallest-crash", "A fetch of the smallest int64 gets 500.")
            .turns([404, 500], |request| request.id() == Some(i64::MIN)),
        fault("get.malformed-id.hexadecimal", "An animal can be fetched by a hexadecimal id.")
            .edit(|request, _| request.look_up(|id| i64::from_str_radix(id.strip_prefix("0x")?, 16).ok())),
        rare("get.malformed-id.underscores", "An animal can be fetched by its id with underscores between digits.")
            .edit(|request, _| request.look_up(|id| (!id.starts_with('_')).then(|| id.replace('_', "")))),
        fault("get.malformed-id.digits-crash", "An id of more than thirty digits gets 500.")
            .turns([404, 500], |request| request.is_get() && request.path.trim_start_matches("/pets/").len() > 30),
        rare("get.malformed-id.bytes-crash", "An id that is not UTF-8 gets 500.")
            .turns([404, 500], |request| request.is_get() && request.path.contains("%FF")),
        fault("create.echo.cut-at-number-sign", "A name is cut at a number sign.")
            .renames(|name| name.split('#').next().map(str::to_owned)),
        fault("create.echo.placeholders", "A question mark in a name becomes $1.")
            .renames(|name| Some(name.replace('?', "$1"))),
        fault("create.echo.templates", "What a name has in double braces is left out.").renames(|name| {
            let (begin, rest) = name.split_once("{{")?;
            rest.split_once("}}").map(|(_, end)| format!("{begin}{end}"))
        }),
        fault("create.echo.no-last-number", "A number at the end of a name is left out.").renames(|name| {
            let (begin, number) = name.rsplit_once(' ')?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| begin.to_owned())
        }),
        fault("create.echo.left-to-right", "Letters that are written from right to left are left out of names.")
            .renames(|name| Some(name.chars().filter(|c| !('\u{590}'..='\u{6ff}').contains(c)).collect())),
        fault("create.echo.western-letters", "Greek and Cyrillic letters become question marks.").renames(|name| {
            Some(name.chars().map(|c| if ('\u{370}'..='\u{4ff}').contains(&c) { '?' } else { c }).collect())
        }),
        fault("create.echo.digits-as-a-number", "A name that is a number loses its last zeros.")
            .renames(|name| Some(name.parse::<f64>().ok().filter(|_| name.contains('.'))?.to_string())),
        fault("create.echo.dollar-signs", "Two dollar signs in a name become one.")
            .renames(|name| Some(name.replace("$$", "$"))),
        fault("create.echo.percent-signs", "Two percent signs in a name become one.")
            .renames(|name| Some(name.replace("%%", "%"))),
        fault("pet.members.digits-are-numbers", "A name of digits is returned as a number.").shows(|pet| {
            let number = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            change(pet, "name", |name| number(name.as_str()?).map(Value::from));
        }),
        fault("create.echo.entities", "A character reference in a name is resolved.")
            .renames(|name| Some(name.replace("&amp;", "&"))),
        fault("create.echo.cut-at-1024", "A name is cut after 1,024 bytes.")
            .renames(|name| name.get(..1_024).map(str::to_owned)),
        fault("create.echo.cut-at-4096", "A name is cut after 4,096 bytes.")
            .renames(|name| name.get(..4_096).map(str::to_owned)),
        rare("create.echo.dates", "A time is added to a name that is a date.").renames(|name| {
            let is_date = name.len() == 10 && name.split('-').map(str::len).eq([4, 2, 2]);
            is_date.then(|| format!("{name}T00:00:00Z"))
        }),
        fault("create.echo.exponents", "A name in the form of a number loses its exponent.")
            .renames(|name| Some(name.parse::<f64>().ok().filter(|_| name.contains('e'))?.to_string())),
    ]
}
