//! Bodies and ids that seldom occur. A run on a Free key has room for the most frequent of them only.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::json;

use super::create::lenient;
use super::reading::failing;
use super::{Fault, fault};
use crate::{Request, ServerState};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    let faults = [dialects(), shapes(), valid(), repeated(), fetches()].into_iter().flatten();
    let smallest = |fault: Fault| if FREQUENT.contains(&fault.name.as_str()) { fault } else { fault.on(Plan::Pro) };
    faults.map(smallest).collect()
}

/// Faults that are so frequent that a suite can be expected to find them on a Free key.
const FREQUENT: [&str; 7] = [
    "create.extended-json.control-characters",
    "create.extended-json.comments",
    "create.extended-json.bare-members",
    "create.name-required.wrapped",
    "create.category-required.written-otherwise",
    "create.category-type.false-is-nought",
    "get.not-found.smallest-crash",
];

/// A fault that reads the text of a creation's body after a change.
fn rereading(
    short: &'static str,
    does: &'static str,
    like: &'static str,
    change: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> Fault {
    fault(short, does, &["create.extended-json"], like).edit(move |request, _| {
        if request.is_create()
            && let Some(text) = std::str::from_utf8(&request.body).ok().and_then(&change)
        {
            request.body = text.into_bytes();
        }
    })
}

fn dialects() -> Vec<Fault> {
    vec![
        failing(
            "blank-crash",
            "A body of blanks alone is answered with 500.",
            &["create.malformed-json"],
            "a parser that finds nothing, and a check that the body is not empty",
            500,
            |request| !request.body.is_empty() && request.body.trim_ascii().is_empty(),
        ),
        failing(
            "byte-order-mark-crash",
            "A body that begins with a byte order mark is answered with 500.",
            &["create.malformed-json"],
            "a parser that stops at the mark, and whose failure nobody handles",
            500,
            |request| request.body.starts_with("\u{feff}".as_bytes()),
        ),
        failing(
            "repeated-member-crash",
            "A member that is there twice is answered with 500.",
            &["create.success"],
            "a table of members that refuses to hold one twice",
            500,
            |request| std::str::from_utf8(&request.body).is_ok_and(|text| text.matches("\"status\":").count() > 1),
        ),
        rereading(
            "control-characters",
            "A control character inside a text is accepted as it is.",
            "a parser that takes every character up to the quotation mark, such as Gson",
            |text| text.contains('\t').then(|| text.replace('\t', "\\t")),
        ),
        rereading(
            "comments",
            "Comments in a body are skipped.",
            "a parser that skips them by default, such as Ruby's",
            |text| {
                let (before, rest) = text.split_once("/*")?;
                Some(format!("{before}{}", rest.split_once("*/")?.1))
            },
        ),
        rereading(
            "single-quotation-marks",
            "Texts in single quotation marks are accepted.",
            "a parser for the literals of a script",
            |text| text.starts_with("{'").then(|| text.replace('\'', "\"")),
        ),
        rereading(
            "bare-members",
            "Names of members without quotation marks are accepted.",
            "a parser for the literals of a script",
            |text| {
                let is_bare = text.starts_with("{name:");
                is_bare.then(|| text.replace("{name:", "{\"name\":").replace(",categoryId:", ",\"categoryId\":"))
            },
        ),
        rereading(
            "any-escape",
            "A backslash before any letter is skipped.",
            "a reader of escapes with a default case",
            |text| text.contains("\\q").then(|| text.replace("\\q", "q")),
        ),
    ]
}

/// Faults that accept other members or values than the described ones.
fn shapes() -> Vec<Fault> {
    vec![
        lenient(
            "wrapped",
            "An animal inside another object is accepted.",
            &["create.name-required", "create.category-required"],
            "a reader that unwraps what another service wraps",
            |pet| {
                let wrapped = ["data", "pet"].iter().find_map(|name| pet.get(*name)?.as_object().cloned());
                if let Some(inner) = wrapped.filter(|_| pet.len() == 1) {
                    *pet = inner;
                }
            },
        ),
        lenient(
            "written-otherwise",
            "category_id is accepted for categoryId.",
            &["create.category-required"],
            "a naming policy that reads both forms",
            |pet| {
                if let Some(value) = pet.get("category_id").cloned() {
                    pet.entry("categoryId").or_insert(value);
                }
            },
        ),
        lenient(
            "another-capital",
            "categoryID is accepted for categoryId.",
            &["create.category-required"],
            "a reader that compares names of members in any case",
            |pet| {
                if let Some(value) = pet.get("categoryID").cloned() {
                    pet.entry("categoryId").or_insert(value);
                }
            },
        ),
        lenient(
            "object-with-an-id",
            "An object with an id is accepted as the category.",
            &["create.category-type"],
            "a reference to another record in either of two forms",
            |pet| {
                if let Some(id) = pet.get("categoryId").and_then(|category| category.get("id")).cloned() {
                    pet.insert("categoryId".to_owned(), id);
                }
            },
        ),
        lenient(
            "false-is-nought",
            "false is accepted as the category 0.",
            &["create.category-type"],
            "a language in which false is a number",
            |pet| {
                if pet.get("categoryId") == Some(&json!(false)) {
                    pet.insert("categoryId".to_owned(), json!(0));
                }
            },
        ),
        lenient(
            "inherited-status",
            "A status that is called like a method of every object is accepted.",
            &["create.status-enum"],
            "a table of constants that is an object, and inherits members",
            |pet| {
                if pet.get("status") == Some(&json!("toString")) {
                    pet.remove("status");
                }
            },
        ),
    ]
}

/// Faults that refuse valid creations whose body or name holds a text.
fn valid() -> Vec<Fault> {
    let refusing = |short, does, like, status: u16, text: &'static str| {
        let holds = move |request: &Request| request.body.windows(text.len()).any(|part| part == text.as_bytes());
        failing(short, does, &["create.success"], like, status, holds)
    };
    vec![
        refusing(
            "escaped-member-unknown",
            "A member whose name is written with an escape is not recognised.",
            "a reader that compares names before it resolves escapes",
            400,
            "n\\u0061me",
        ),
        refusing(
            "line-breaks-refused",
            "A body that begins with a line break is refused.",
            "a check that the first byte is a brace",
            400,
            "\r\n\t{",
        ),
        refusing(
            "constructor-crash",
            "An animal called constructor is answered with 500.",
            "a table by name that is an object, and inherits members",
            500,
            "\"constructor\"",
        ),
    ]
}

/// Faults of a fetch.
fn fetches() -> Vec<Fault> {
    vec![
        fault(
            "smallest-crash",
            "A fetch of the smallest int64 is answered with 500.",
            &["get.not-found"],
            "an absolute value that does not exist",
        )
        .after(|request, response, _| {
            if response.status == 404 && request.is_get() && request.id() == Some(i64::MIN) {
                response.refuse(500);
            }
        }),
    ]
}

/// The body and the response of each key's last creation.
type Last = Mutex<HashMap<String, (Vec<u8>, crate::Response)>>;

/// Faults by which a creation makes no new animal.
fn repeated() -> Vec<Fault> {
    let owned_id = |request: &Request, server: &ServerState| {
        let pet = request.object().filter(|_| request.is_create())?;
        let id = pet.get("id").or_else(|| pet.get("petId"))?.as_i64()?;
        server.newest().into_iter().find(|known| known["id"] == id)
    };
    vec![
        fault(
            "replaces-an-animal",
            "A creation with the id of an animal replaces it.",
            &["pet.unique-id"],
            "insert or update where only insert was meant",
        )
        .after(move |request, response, server| {
            if response.status == 201
                && let Some(known) = owned_id(request, server)
                && let Some(mut pet) = response.json()
            {
                pet["id"] = known["id"].clone();
                response.set_json(pet);
            }
        }),
        fault(
            "sent-again",
            "A creation like the key's last one is answered with that one's animal.",
            &["pet.unique-id"],
            "a guard against clicking twice",
        )
        .before(|request, server| {
            let last = server.own::<Last>();
            let last = last.lock().ok()?;
            let (body, response) = last.get(request.authorization())?;
            (request.is_create() && *body == request.body).then(|| response.clone())
        })
        .after(|request, response, server| {
            if request.is_create()
                && response.status == 201
                && let Ok(mut last) = server.own::<Last>().lock()
            {
                last.insert(request.authorization().to_owned(), (request.body.clone(), response.clone()));
            }
        }),
    ]
}
