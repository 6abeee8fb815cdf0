//! Faults of stored animals: stored twice, taken for another, cut, forgotten, or remembered as missing.

use serde_json::{Value, json};

use super::create::show_kept;
use super::{Fault, fault};
use crate::ServerState;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("stored-twice", &["list.agrees"])
            .does("Each creation stores the animal twice.")
            .like("a write that is retried although it was done")
            .after(|request, response, server| {
                if response.status == 201
                    && let Some(mut pet) = response.json()
                {
                    pet["id"] = json!(pet["id"].as_i64().unwrap_or_default() + 1_000_000);
                    server.memory().ghosts.push(pet);
                }
                show_kept(request, response, server);
            }),
        fault("one-for-the-same-bytes", &["pet.unique-id"])
            .does("A creation with the bytes of an earlier one is answered with the earlier animal.")
            .like("a key for retries that is derived from the body")
            .before(|request, server| {
                let is_creation = request.is_create() && server.key_of(request).is_some();
                is_creation.then(|| server.memory().cache.get(&text(&request.body)).cloned())?
            })
            .after(|request, response, server| {
                if request.is_create() && response.status == 201 {
                    server.memory().cache.insert(text(&request.body), response.clone());
                }
            }),
        fault("newest-25-kept", &["list.complete"])
            .does("Only the newest 25 animals are kept.")
            .like("a table that is trimmed when it grows")
            .after(|request, response, server| {
                let kept = newest(server, 25);
                response.edit_list(request, |pets| pets.retain(|pet| kept.contains(&pet["id"])));
                if request.is_get()
                    && response.status == 200
                    && !response.json().is_some_and(|pet| kept.contains(&pet["id"]))
                {
                    response.refuse(404);
                }
            }),
        fault("remembers-404", &["get.success"])
            .does("An id that was asked for too early stays 404.")
            .like("a cache that keeps that there was nothing")
            .after(|request, response, server| {
                let Some(id) = request.id().filter(|_| request.is_get() && matches!(response.status, 200 | 404)) else {
                    return;
                };
                if response.status == 404 {
                    server.memory().ids.insert(id, id);
                } else if server.memory().ids.contains_key(&id) {
                    response.refuse(404);
                }
            }),
        fault("cut-at-nul", &["create.echo"])
            .does("A name is cut at its first zero character.")
            .like("a string that ends at the first byte that is zero")
            .renames(|name| name.split('\0').next().map(str::to_owned)),
    ]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The ids of the animals that were created last.
fn newest(server: &ServerState, count: usize) -> Vec<Value> {
    server.newest().into_iter().take(count).map(|pet| pet["id"].clone()).collect()
}
