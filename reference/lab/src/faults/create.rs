//! Add an animal.

use serde_json::{Value, json};

use super::list::limit_of;
use super::{Builds, Fault, change, fault, is_status, set, set_missing};
use crate::{Request, Response, ServerState};

fn lacks(request: &Request, member: &str) -> bool {
    request.object().is_some_and(|members| !members.contains_key(member))
}

/// A text with a capital as its first letter.
fn capitalised(text: &str) -> Option<String> {
    let mut letters = text.chars();
    Some(letters.next()?.to_uppercase().chain(letters).collect())
}

/// Animals that only a fault knows.
#[derive(Default)]
pub(super) struct Kept(pub(super) Vec<Value>);

/// Keeps the animal that a creation names, although it was refused.
fn keep(request: &Request, server: &ServerState) {
    if let Some(name) = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.to_owned())) {
        server.own(|Kept(pets)| {
            let id = 900_000 + pets.len();
            pets.push(json!({"id": id, "name": name, "categoryId": 1, "status": "available"}));
        });
    }
}

/// Lists the kept animals beside the animals that the reference lists.
pub(super) fn show_kept(request: &Request, response: &mut Response, server: &ServerState) {
    let limit = limit_of(request).unwrap_or(20);
    let wanted = request.parameter("status");
    let kept = server.own(|Kept(pets)| pets.clone());
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

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Answers to creations.
        fault("create.success.created-is-200", "A creation gets 200.")
            .answered(201, |_, response, _| response.status = 200),
        fault("create.success.created-is-202", "A creation gets 202.")
            .answered(201, |_, response, _| response.status = 202),
        fault("create.success.status-required", "A creation without a status is refused.")
            .edit_created(|pet| set_missing(pet, "status", Value::Null)),
        fault("create.echo.title-case", "The 201 capitalises each word of the name.").shows_in(
            Request::is_create,
            |pet| {
                change(pet, "name", |name| {
                    let words = name.as_str()?.split(' ').map(|word| capitalised(word).unwrap_or_default());
                    Some(words.collect::<Vec<_>>().join(" ").into())
                });
            },
        ),
        fault("create.echo.capitalised", "The first letter of a name is made a capital.").renames(capitalised),
        fault("create.echo.as-from-a-form", "A plus sign in a name becomes a space.")
            .renames(|name| Some(name.replace('+', " "))),
        fault("create.echo.escaped", "A quote in a name is doubled.").renames(|name| Some(name.replace('\'', "''"))),
        fault("create.echo.bytes-as-letters", "Letters beyond ASCII in a name become several.").edit(|request, _| {
            if !request.body.is_ascii() {
                request.edit_object(|pet| {
                    change(pet, "name", |name| Some(name.as_str()?.bytes().map(char::from).collect::<String>().into()));
                });
            }
        }),
        fault("create.echo.single-blanks", "Several spaces in a name become one.")
            .renames(|name| Some(name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))),
        fault("create.success.long-names-crash", "A name over 255 characters gets 500.").after(
            |request, response, _| {
                let name = request.object().and_then(|pet| Some(pet.get("name")?.as_str()?.chars().count()));
                if request.is_create() && name.is_some_and(|length| length > 255) {
                    response.refuse(500);
                }
            },
        ),
        fault("create.echo.categories-as-doubles", "Category ids beyond 2^53 are rounded.")
            .shows(|pet| change(pet, "categoryId", |id| Some((id.as_f64()? as i64).into()))),
        fault("create.echo.always-available", "A new animal is available, whatever status it is given.")
            .reads("status", |status| is_status(status.as_str()?).then(|| json!("available"))),
        fault("create.assigned-id.clients-ids", "The 201 shows the id that was sent.").after(|request, response, _| {
            if let Some(id) = request.object().and_then(|pet| pet.get("id")?.as_i64()) {
                response.edit_pets(|pet| set(pet, "id", id));
            }
        }),
        fault("create.assigned-id.echo-without-id", "The 201 has no id.")
            .shows_in(Request::is_create, |pet| drop(pet.remove("id"))),
        fault("create.assigned-id.id-not-yet-known", "The 201 has the id null.")
            .shows_in(Request::is_create, |pet| set(pet, "id", Value::Null)),
        // Members that are required.
        fault("create.name-required.empty-is-default", "An empty object creates an animal.").edit_created(|pet| {
            if pet.is_empty() {
                set(pet, "name", "");
                set(pet, "categoryId", 1);
            }
        }),
        fault("create.name-required.name-defaults", "A body without a name creates an animal.")
            .edit_created(|pet| set_missing(pet, "name", "")),
        fault("create.name-required.name-422", "A body without a name gets 422.")
            .turns(400, 422, |request| request.is_create() && lacks(request, "name")),
        fault("create.name-required.name-crash", "A body without a name gets 500.")
            .turns(400, 500, |request| request.is_create() && lacks(request, "name")),
        fault("create.category-required.category-defaults", "A body without a category creates an animal.")
            .edit_created(|pet| set_missing(pet, "categoryId", 0)),
        fault("create.category-required.category-not-null", "A body without a category is answered with 500.").turns(
            400,
            500,
            |request| request.is_create() && lacks(request, "categoryId"),
        ),
        fault("create.name-required.everything-422", "Every invalid body gets 422.")
            .also(&["create.category-required", "create.name-type", "create.category-type"])
            .turns(400, 422, Request::is_create),
        // What a refused creation leaves behind.
        fault("create.refused-stores-nothing.stored-then-checked", "A creation refused with 400 stores the animal.")
            .stores_refused(400, |_| true),
        fault("create.refused-stores-nothing.status-checked-last", "A creation refused for its status is stored.")
            .stores_refused(400, |request| !lacks(request, "status")),
    ]
}
