//! Add an animal.

use serde_json::{Value, json};

use super::list::limit_of;
use super::{Fault, change, fault, is_status, set, set_missing};
use crate::{Request, Response, ServerState};

pub(super) fn faults() -> Vec<Fault> {
    [answers(), required(), leftovers()].into_iter().flatten().collect()
}

fn lacks(request: &Request, member: &str) -> bool {
    request.object().is_some_and(|members| !members.contains_key(member))
}

fn answers() -> Vec<Fault> {
    vec![
        fault("created-is-200", &["create.success"])
            .does("A creation is answered with 200.")
            .like("the status that a framework answers unless another one is set")
            .answered(201, |_, response, _| response.status = 200),
        fault("created-is-202", &["create.success"])
            .does("A creation is answered with 202.")
            .like("a queue in front of the database")
            .answered(201, |_, response, _| response.status = 202),
        fault("status-required", &["create.success"])
            .does("A creation without a status is refused.")
            .like("an optional member that the schema calls required")
            .edit_created(|pet| set_missing(pet, "status", Value::Null)),
        fault("title-case", &["create.echo"])
            .does("The 201 shows the name in capitals.")
            .like("names made pretty on the way in")
            .shows_in(Request::is_create, |pet| change(pet, "name", |name| Some(name.as_str()?.to_uppercase().into()))),
        fault("capitalised", &["create.echo"])
            .does("The first letter of a name is made a capital.")
            .like("names that have to begin with a capital letter")
            .renames(|name| {
                let mut letters = name.chars();
                Some(letters.next()?.to_uppercase().chain(letters).collect())
            }),
        fault("as-from-a-form", &["create.echo"])
            .does("A plus sign in a name becomes a space.")
            .like("a decoder for forms that sees every body")
            .renames(|name| Some(name.replace('+', " "))),
        fault("escaped", &["create.echo"])
            .does("A quote in a name is doubled.")
            .like("quotes escaped for a language that is not spoken here")
            .renames(|name| Some(name.replace('\'', "''"))),
        fault("bytes-as-letters", &["create.echo"])
            .does("Characters beyond ASCII in a name become several others.")
            .like("a body in UTF-8 that is read as Latin-1")
            .edit(|request, _| {
                if !request.body.is_ascii() {
                    request.edit_object(|pet| {
                        change(pet, "name", |name| {
                            Some(name.as_str()?.bytes().map(char::from).collect::<String>().into())
                        });
                    });
                }
            }),
        fault("single-blanks", &["create.echo"])
            .does("Several spaces in a name become one.")
            .like("blanks brought to one, as for a page")
            .renames(|name| Some(name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))),
        fault("long-names-crash", &["create.success"])
            .does("A name of more than 255 characters is answered with 500.")
            .like("a column of 255 characters")
            .after(|request, response, _| {
                let name = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.chars().count()));
                if request.is_create() && name.is_some_and(|length| length > 255) {
                    response.refuse(500);
                }
            }),
        fault("categories-as-doubles", &["create.echo"])
            .does("Category ids beyond 2^53 are rounded.")
            .like("numbers that pass through a double")
            .shows(|pet| change(pet, "categoryId", |id| Some((id.as_f64()? as i64).into()))),
        fault("always-available", &["create.echo"])
            .does("A new animal is available, whatever status it is given.")
            .like("a status that is set after the members are")
            .reads("status", |status| is_status(status.as_str()?).then(|| json!("available"))),
        fault("clients-ids", &["create.assigned-id"])
            .does("The 201 shows the id that the client sent.")
            .like("the whole body bound to the record")
            .after(|request, response, _| {
                if let Some(id) = request.object().and_then(|pet| pet.get("id")?.as_i64()) {
                    response.edit_pets(|pet| set(pet, "id", id));
                }
            }),
        fault("echo-without-id", &["create.assigned-id"])
            .does("The 201 has no id.")
            .like("the request's body sent back")
            .shows_in(Request::is_create, |pet| drop(pet.remove("id"))),
        fault("id-not-yet-known", &["create.assigned-id"])
            .does("The 201 has the id null.")
            .like("a record written out before it has its id")
            .shows_in(Request::is_create, |pet| set(pet, "id", Value::Null)),
    ]
}

fn required() -> Vec<Fault> {
    vec![
        fault("empty-is-default", &["create.name-required"])
            .does("An empty object creates an animal.")
            .like("an empty object from which a default animal is made")
            .edit_created(|pet| {
                if pet.is_empty() {
                    set(pet, "name", "");
                    set(pet, "categoryId", 1);
                }
            }),
        fault("name-defaults", &["create.name-required"])
            .does("A body without a name creates an animal.")
            .like("a missing string that is empty")
            .edit_created(|pet| set_missing(pet, "name", "")),
        fault("name-422", &["create.name-required"])
            .does("A body without a name is answered with 422.")
            .like("a framework whose validation answers 422")
            .turns(400, 422, |request| request.is_create() && lacks(request, "name")),
        fault("name-crash", &["create.name-required"])
            .does("A body without a name is answered with 500.")
            .like("a missing name that is used all the same")
            .turns(400, 500, |request| request.is_create() && lacks(request, "name")),
        fault("category-defaults", &["create.category-required"])
            .does("A body without a category creates an animal.")
            .like("a missing number that is zero")
            .edit_created(|pet| set_missing(pet, "categoryId", 0)),
        fault("category-not-null", &["create.category-required"])
            .does("A body without a category is answered with 500.")
            .like("a missing member that only the database notices")
            .turns(400, 500, |request| request.is_create() && lacks(request, "categoryId")),
        fault(
            "everything-422",
            &["create.name-required", "create.category-required", "create.name-type", "create.category-type"],
        )
        .does("Every invalid body is answered with 422.")
        .like("a framework that answers every invalid body with 422")
        .turns(400, 422, Request::is_create),
    ]
}

/// Keeps the animal that a creation names, although it was refused.
fn keep(request: &Request, server: &ServerState) {
    if let Some(name) = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.to_owned())) {
        let mut memory = server.memory();
        let id = 900_000 + memory.ghosts.len() as i64;
        memory.ghosts.push(json!({"id": id, "name": name, "categoryId": 1, "status": "available"}));
    }
}

/// Lists the kept animals beside the animals that the reference lists.
pub(super) fn show_kept(request: &Request, response: &mut Response, server: &ServerState) {
    let limit = limit_of(request).unwrap_or(20);
    let wanted = request.parameter("status");
    let kept = server.memory().ghosts.clone();
    response.edit_list(request, |pets| {
        pets.splice(0..0, kept.into_iter().filter(|pet| wanted.is_none_or(|status| pet["status"] == status)));
        pets.truncate(limit);
    });
}

impl Fault {
    /// Stores the animals of some creations that are refused with a status.
    pub(super) fn stores_refused(self, status: u16, which: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, server| {
            if request.is_create() && response.status == status && which(request) {
                keep(request, server);
            }
            show_kept(request, response, server);
        })
    }
}

fn leftovers() -> Vec<Fault> {
    vec![
        fault("stored-then-checked", &["create.refused-stores-nothing"])
            .does("A creation that is refused with 400 stores the animal.")
            .like("a row that is written before it is checked")
            .stores_refused(400, |_| true),
        fault("status-checked-last", &["create.refused-stores-nothing"])
            .does("A creation that is refused for its status stores the animal.")
            .like("a second statement that fails, without a transaction around both")
            .stores_refused(400, |request| !lacks(request, "status")),
    ]
}
