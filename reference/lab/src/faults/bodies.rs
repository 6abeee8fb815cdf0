//! Bodies and ids that seldom occur. A run on a Free key has room for the most frequent of them only.

use std::collections::HashMap;

use serde_json::json;

use super::reading::call;
use super::{Fault, fault};
use crate::{Request, ServerState};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    let faults = [dialects(), shapes(), valid(), repeated(), fetches()].into_iter().flatten();
    let smallest = |fault: Fault| if FREQUENT.contains(&fault.name.as_str()) { fault } else { fault.on(Plan::Pro) };
    faults.map(smallest).collect()
}

/// Faults that are so frequent that a suite can be expected to find them on a Free key.
const FREQUENT: [&str; 9] = [
    "create.extended-json.control-characters",
    "create.extended-json.comments",
    "create.extended-json.bare-members",
    "create.name-required.wrapped",
    "create.category-required.written-otherwise",
    "create.category-type.false-is-nought",
    "get.not-found.smallest-crash",
    "get.malformed-id.hexadecimal",
    "get.malformed-id.digits-crash",
];

fn dialects() -> Vec<Fault> {
    vec![
        fault("blank-crash", &["create.malformed-json"])
            .does("A body of blanks alone is answered with 500.")
            .like("a parser that finds nothing, and a check that the body is not empty")
            .fails(500, |request| !request.body.is_empty() && request.body.trim_ascii().is_empty()),
        fault("byte-order-mark-crash", &["create.malformed-json"])
            .does("A body that begins with a byte order mark is answered with 500.")
            .like("a parser that stops at the mark, and whose failure nobody handles")
            .fails(500, |request| request.body.starts_with("\u{feff}".as_bytes())),
        fault("repeated-member-crash", &["create.success"])
            .does("A member that is there twice is answered with 500.")
            .like("a table of members that refuses to hold one twice")
            .fails(500, |request| {
                std::str::from_utf8(&request.body).is_ok_and(|text| text.matches("\"status\":").count() > 1)
            }),
        fault("control-characters", &["create.extended-json"])
            .does("A control character inside a text is accepted as it is.")
            .like("a parser that takes every character up to the quotation mark, such as Gson")
            .replaces("\t", "\\t"),
        fault("comments", &["create.extended-json"])
            .does("Comments in a body are skipped.")
            .like("a parser that skips them by default, such as Ruby's")
            .rereads(|text| {
                let (before, rest) = text.split_once("/*")?;
                Some(format!("{before}{}", rest.split_once("*/")?.1))
            }),
        fault("single-quotation-marks", &["create.extended-json"])
            .does("Texts in single quotation marks are accepted.")
            .like("a parser for the literals of a script")
            .rereads(|text| text.starts_with("{'").then(|| text.replace('\'', "\""))),
        fault("bare-members", &["create.extended-json"])
            .does("Names of members without quotation marks are accepted.")
            .like("a parser for the literals of a script")
            .rereads(|text| {
                let is_bare = text.starts_with("{name:");
                is_bare.then(|| text.replace("{name:", "{\"name\":").replace(",categoryId:", ",\"categoryId\":"))
            }),
        fault("any-escape", &["create.extended-json"])
            .does("A backslash before any letter is skipped.")
            .like("a reader of escapes with a default case")
            .replaces("\\q", "q"),
    ]
}

/// Faults that accept other members or values than the described ones.
fn shapes() -> Vec<Fault> {
    vec![
        fault("wrapped", &["create.name-required", "create.category-required"])
            .does("An animal inside another object is accepted.")
            .like("a reader that unwraps what another service wraps")
            .edit_created(|pet| {
                let wrapped = ["data", "pet"].iter().find_map(|name| pet.get(*name)?.as_object().cloned());
                if let Some(inner) = wrapped.filter(|_| pet.len() == 1) {
                    *pet = inner;
                }
            }),
        fault("written-otherwise", &["create.category-required"])
            .does("category_id is accepted for categoryId.")
            .like("a naming policy that reads both forms")
            .edit_created(|pet| call(pet, "category_id", "categoryId")),
        fault("another-capital", &["create.category-required"])
            .does("categoryID is accepted for categoryId.")
            .like("a reader that compares names of members in any case")
            .edit_created(|pet| call(pet, "categoryID", "categoryId")),
        fault("object-with-an-id", &["create.category-type"])
            .does("An object with an id is accepted as the category.")
            .like("a reference to another record in either of two forms")
            .reads("categoryId", |category| category.get("id").cloned()),
        fault("false-is-nought", &["create.category-type"])
            .does("false is accepted as the category 0.")
            .like("a language in which false is a number")
            .takes("categoryId", false, 0),
        fault("inherited-status", &["create.status-enum"])
            .does("A status that is called like a method of every object is accepted.")
            .like("a table of constants that is an object, and inherits members")
            .edit_created(|pet| {
                if pet.get("status") == Some(&json!("toString")) {
                    pet.remove("status");
                }
            }),
    ]
}

/// Faults that refuse valid creations whose body or name holds a text.
fn valid() -> Vec<Fault> {
    vec![
        fault("escaped-member-unknown", &["create.success"])
            .does("A member whose name is written with an escape is not recognised.")
            .like("a reader that compares names before it resolves escapes")
            .fails(400, |request| request.holds("n\\u0061me")),
        fault("line-breaks-refused", &["create.success"])
            .does("A body that begins with a line break is refused.")
            .like("a check that the first byte is a brace")
            .fails(400, |request| request.holds("\r\n\t{")),
        fault("constructor-crash", &["create.success"])
            .does("An animal called constructor is answered with 500.")
            .like("a table by name that is an object, and inherits members")
            .fails(500, |request| request.holds("\"constructor\"")),
    ]
}

/// Faults of a fetch.
fn fetches() -> Vec<Fault> {
    const MALFORMED: &[&str] = &["get.malformed-id"];
    vec![
        fault("smallest-crash", &["get.not-found"])
            .does("A fetch of the smallest int64 is answered with 500.")
            .like("an absolute value that does not exist")
            .turns(404, 500, |request| request.is_get() && request.id() == Some(i64::MIN)),
        fault("hexadecimal", MALFORMED)
            .does("An animal can be fetched by its id in hexadecimal.")
            .like("a conversion that reads every base that the language has")
            .edit(|request, _| {
                let id = request.path.strip_prefix("/pets/0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
                if let Some(id) = id.filter(|_| request.is_get()) {
                    request.path = format!("/pets/{id}");
                }
            }),
        fault("underscores", MALFORMED)
            .does("An animal can be fetched by its id with underscores between the digits.")
            .like("a conversion that reads numbers as the language writes them")
            .edit(|request, _| {
                let id = request.path.trim_start_matches("/pets/");
                if request.is_get() && id.starts_with(|c: char| c.is_ascii_digit()) {
                    request.path = request.path.replace('_', "");
                }
            }),
        fault("digits-crash", MALFORMED)
            .does("An id of more than thirty digits is answered with 500.")
            .like("a decimal type that has a bound on digits, whose exception nobody catches")
            .turns(404, 500, |request| request.is_get() && request.path.trim_start_matches("/pets/").len() > 30),
        fault("bytes-crash", MALFORMED)
            .does("An id that is not UTF-8 is answered with 500.")
            .like("a path that is decoded as text, whose exception nobody catches")
            .turns(404, 500, |request| request.is_get() && request.path.contains("%FF")),
    ]
}

/// The body and the response of each key's last creation.
type Last = HashMap<String, (Vec<u8>, crate::Response)>;

/// Faults by which a creation makes no new animal.
fn repeated() -> Vec<Fault> {
    let owned_id = |request: &Request, server: &ServerState| {
        let pet = request.object().filter(|_| request.is_create())?;
        let id = pet.get("id").or_else(|| pet.get("petId"))?.as_i64()?;
        server.pet(id)
    };
    vec![
        fault("replaces-an-animal", &["pet.unique-id"])
            .does("A creation with the id of an animal replaces it.")
            .like("insert or update where only insert was meant")
            .after(move |request, response, server| {
                if response.status == 201
                    && let Some(known) = owned_id(request, server)
                    && let Some(mut pet) = response.json()
                {
                    pet["id"] = known["id"].clone();
                    response.set_json(pet);
                }
            }),
        fault("sent-again", &["pet.unique-id"])
            .does("A creation like the key's last one is answered with that one's animal.")
            .like("a guard against clicking twice")
            .before(|request, server| {
                server.own(|last: &mut Last| {
                    let (body, response) = last.get(request.authorization())?;
                    (request.is_create() && *body == request.body).then(|| response.clone())
                })
            })
            .after(|request, response, server| {
                if request.is_create() && response.status == 201 {
                    let made = (request.body.clone(), response.clone());
                    server.own(|last: &mut Last| last.insert(request.authorization().to_owned(), made));
                }
            }),
    ]
}
