//! Bodies and ids that seldom occur. A run on a Free key has room for the most frequent of them only.

use std::collections::HashMap;

use serde_json::json;

use super::reading::call;
use super::{Builds, Fault, fault};
use crate::{Request, ServerState};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    let owned_id = |request: &Request, server: &ServerState| {
        let pet = request.object().filter(|_| request.is_create())?;
        let id = pet.get("id").or_else(|| pet.get("petId"))?.as_i64()?;
        server.pet(id)
    };
    let faults = vec![
        // Dialects of JSON.
        fault("create.malformed-json.blank-crash", "A body of blanks alone gets 500.")
            .fails(500, |request| !request.body.is_empty() && request.body.trim_ascii().is_empty()),
        fault("create.malformed-json.byte-order-mark-crash", "A body that begins with a byte order mark gets 500.")
            .fails(500, |request| request.body.starts_with("\u{feff}".as_bytes())),
        fault("create.success.repeated-member-crash", "A member that is there twice gets 500.").fails(500, |request| {
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
        fault("create.extended-json.single-quotation-marks", "Texts in single quotation marks are accepted.")
            .rereads(|text| text.starts_with("{'").then(|| text.replace('\'', "\""))),
        fault("create.extended-json.bare-members", "Members without quotation marks are accepted.").rereads(|text| {
            let is_bare = text.starts_with("{name:");
            is_bare.then(|| {
                text.replace("{name:", "{\"name\":")
                    .replace(",categoryId:", ",\"categoryId\":")
                    .replace(",status:", ",\"status\":")
            })
        }),
        fault("create.extended-json.any-escape", "A backslash before any letter is skipped.").replaces("\\q", "q"),
        // Other members or values than the described ones are accepted.
        fault("create.name-required.wrapped", "An animal inside another object is accepted.")
            .also(&["create.category-required"])
            .edit_created(|pet| {
                let wrapped = ["data", "pet"].iter().find_map(|name| pet.get(*name)?.as_object().cloned());
                if let Some(inner) = wrapped.filter(|_| pet.len() == 1) {
                    *pet = inner;
                }
            }),
        fault("create.category-required.written-otherwise", "category_id is accepted for categoryId.")
            .edit_created(|pet| call(pet, "category_id", "categoryId")),
        fault("create.category-required.another-capital", "categoryID is accepted for categoryId.")
            .edit_created(|pet| call(pet, "categoryID", "categoryId")),
        fault("create.category-type.object-with-an-id", "An object with an id is accepted as the category.")
            .reads("categoryId", |category| category.get("id").cloned()),
        fault("create.category-type.false-is-zero", "false is taken for category 0.").takes("categoryId", false, 0),
        fault("create.status-enum.inherited-status", "A status called like a method of every object is accepted.")
            .edit_created(|pet| {
                if pet.get("status") == Some(&json!("constructor")) {
                    pet.remove("status");
                }
            }),
        // Valid creations whose body or name has a text are refused.
        fault("create.success.escaped-member-unknown", "A member whose name has an escape is not recognised.")
            .fails(400, |request| request.holds("n\\u0061me")),
        fault("create.success.line-breaks-refused", "A body that begins with white space is refused.")
            .fails(400, |request| request.is_create() && request.body.first().is_some_and(u8::is_ascii_whitespace)),
        fault("create.success.constructor-crash", "An animal called constructor gets 500.")
            .fails(500, |request| request.holds("\"constructor\"")),
        // A creation makes no new animal.
        fault("pet.unique-id.replaces-an-animal", "A creation with the id of an animal replaces it.").after(
            move |request, response, server| {
                if response.status == 201
                    && let Some(known) = owned_id(request, server)
                    && let Some(mut pet) = response.json()
                {
                    pet["id"] = known["id"].clone();
                    response.set_json(pet);
                }
            },
        ),
        fault("pet.unique-id.sent-again", "A creation like the key's last one gets that one's animal.")
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
        // Fetches.
        fault("get.not-found.smallest-crash", "A fetch of the smallest int64 gets 500.")
            .turns(404, 500, |request| request.is_get() && request.id() == Some(i64::MIN)),
        fault("get.malformed-id.hexadecimal", "An animal can be fetched by a hexadecimal id.").edit(|request, _| {
            let id = request.path.strip_prefix("/pets/0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
            if let Some(id) = id.filter(|_| request.is_get()) {
                request.path = format!("/pets/{id}");
            }
        }),
        fault("get.malformed-id.underscores", "An animal can be fetched by its id with underscores between digits.")
            .edit(|request, _| {
                let id = request.path.trim_start_matches("/pets/");
                if request.is_get() && id.starts_with(|c: char| c.is_ascii_digit()) {
                    request.path = request.path.replace('_', "");
                }
            }),
        fault("get.malformed-id.digits-crash", "An id of more than thirty digits gets 500.").turns(
            404,
            500,
            |request| request.is_get() && request.path.trim_start_matches("/pets/").len() > 30,
        ),
        fault("get.malformed-id.bytes-crash", "An id that is not UTF-8 gets 500.")
            .turns(404, 500, |request| request.is_get() && request.path.contains("%FF")),
    ];
    let smallest = |fault: Fault| if FREQUENT.contains(&fault.name.as_str()) { fault } else { fault.on(Plan::Pro) };
    faults.into_iter().map(smallest).collect()
}

/// Faults that are so frequent that a suite can be expected to find them on a Free key.
const FREQUENT: [&str; 9] = [
    "create.extended-json.control-characters",
    "create.extended-json.comments",
    "create.extended-json.bare-members",
    "create.name-required.wrapped",
    "create.category-required.written-otherwise",
    "create.category-type.false-is-zero",
    "get.not-found.smallest-crash",
    "get.malformed-id.hexadecimal",
    "get.malformed-id.digits-crash",
];

/// The body and the response of each key's last creation.
type Last = HashMap<String, (Vec<u8>, crate::Response)>;
