//! Faults of stored animals: stored twice, taken for another, cut, forgotten, or remembered as missing.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::create::{Kept, show_kept};
use super::{Builds, Fault, fault};
use crate::{Response, ServerState};

/// The response to each creation, by the bytes of its body.
type Made = HashMap<Vec<u8>, Response>;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("list.agrees.stored-twice", "Each creation is stored twice.").after(|request, response, server| {
            if response.status == 201
                && let Some(mut pet) = response.json()
            {
                pet["id"] = json!(pet["id"].as_i64().unwrap_or_default() + 1_000_000);
                server.own(|Kept(pets)| pets.push(pet));
            }
            show_kept(request, response, server);
        }),
        fault("pet.unique-id.one-for-the-same-bytes", "A creation with the bytes of an earlier one gets its animal.")
            .before(|request, server| {
                let is_creation = request.is_create() && server.key_of(request).is_some();
                is_creation.then(|| server.own(|made: &mut Made| made.get(&request.body).cloned()))?
            })
            .after(|request, response, server| {
                if request.is_create() && response.status == 201 {
                    server.own(|made: &mut Made| made.insert(request.body.clone(), response.clone()));
                }
            }),
        fault("list.complete.newest-25-kept", "Only the newest 25 animals are kept.")
            .lists(|pets, _, server| pets.retain(|pet| pet["id"].as_i64().is_some_and(|id| is_kept(server, id))))
            .hides(|id, server| !is_kept(server, id)),
        fault("get.success.remembers-404", "An id that got 404 once stays 404.").after(|request, response, server| {
            let Some(id) = request.id().filter(|_| request.is_get() && matches!(response.status, 200 | 404)) else {
                return;
            };
            if response.status == 404 {
                server.own(|missing: &mut HashSet<i64>| missing.insert(id));
            } else if server.own(|missing: &mut HashSet<i64>| missing.contains(&id)) {
                response.refuse(404);
            }
        }),
        fault("create.echo.cut-at-nul", "A name is cut at its first zero character.")
            .renames(|name| name.split('\0').next().map(str::to_owned)),
    ]
}

/// Returns true for the ids of the 25 animals that were created last.
fn is_kept(server: &ServerState, id: i64) -> bool {
    server.newest().iter().take(25).any(|pet| pet["id"] == id)
}
