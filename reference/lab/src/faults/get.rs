//! Get an animal, and store orders.

use std::collections::HashSet;

use serde_json::Value;

use super::{Builds, Fault, change, fault, set, set_missing};
use crate::{Request, Response, ServerState};
use animal_store_reference::Plan;

impl Fault {
    /// Answers fetches of some animals, by their identifiers, with 404.
    pub(super) fn hides(self, which: impl Fn(i64, &ServerState) -> bool + Send + Sync + 'static) -> Fault {
        self.answered(200, move |request, response, server| {
            if request.is_get() && request.id().is_some_and(|id| which(id, server)) {
                response.refuse(404);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Animals that exist.
        fault("get.success.inner-ids", "A fetched animal has another id than was asked for.")
            .shows_in(Request::is_get, |pet| change(pet, "id", |id| Some((id.as_i64()? + 1_000).into()))),
        fault("get.success.slow-replica", "An animal cannot be fetched for five minutes.")
            .hides(|id, server| server.timestamp().duration_since(server.born(id)).as_secs() < 300),
        fault("get.success.statusless-are-hidden", "An animal without a status cannot be fetched.")
            .hides(|id, server| server.pet(id).is_some_and(|pet| pet.get("status").is_none())),
        fault("get.success.pending-hidden", "An animal that is pending cannot be fetched.")
            .hides(|id, server| server.pet(id).is_some_and(|pet| pet["status"] == "pending")),
        fault("get.success.fetched-once", "An animal can be fetched once.")
            .hides(|id, server| !server.own(|fetched: &mut HashSet<i64>| fetched.insert(id))),
        fault("get.success.one-shard-in-four", "One animal in four cannot be fetched.").hides(|id, _| id % 4 == 0),
        fault("get.agrees.fetched-without-status", "A fetched animal has no status.")
            .shows_in(Request::is_get, |pet| drop(pet.remove("status"))),
        fault("get.agrees.split-characters", "A character beyond ASCII across 4 KiB of a fetched animal is replaced.")
            .on(Plan::Pro)
            .after(|request, response, _| {
                if request.is_get() {
                    let buffers = response.body.chunks(4_096).map(String::from_utf8_lossy);
                    response.body = buffers.collect::<String>().into_bytes();
                }
            }),
        fault("get.agrees.default-in-lists", "A listed animal without a status is available, unlike a fetched one.")
            .shows_in(Request::is_list, |pet| set_missing(pet, "status", "available")),
        fault("get.agrees.fetched-as-available", "A fetched animal is available, whatever its status is.")
            .shows_in(Request::is_get, |pet| set(pet, "status", "available")),
        // Identifiers that no animal has.
        fault("get.not-found.null-for-nobody", "An id that no animal has gets 200 and null.").alters(
            404,
            Request::gets_id,
            |response| response.become_json(200, Value::Null),
        ),
        fault("get.not-found.nobody-is-204", "An unused id gets 204.").alters(404, Request::gets_id, Response::empty),
        fault("get.not-found.negative-is-bad", "A negative id gets 400.")
            .turns(404, 400, |request| request.is_get() && request.id().is_some_and(|id| id < 0)),
        fault("get.not-found.too-large-for-a-column", "An id of more than 32 bits gets 500, if no animal has it.")
            .turns(404, 500, |request| request.is_get() && request.id().is_some_and(|id| i32::try_from(id).is_err())),
        fault("get.not-found.cut-to-32-bits", "Of an id only the lower 32 bits are looked up.").edit(|request, _| {
            if let Some(id) = request.id().filter(|_| request.is_get()) {
                request.path = format!("/pets/{}", id & 0xffff_ffff);
            }
        }),
        fault("get.malformed-id.malformed-crash", "A malformed id gets 500.").turns(404, 500, Request::gets_malformed),
        fault("get.malformed-id.malformed-422", "A malformed id gets 422.").turns(404, 422, Request::gets_malformed),
        fault("get.malformed-id.leading-digits", "Only the first digits of an id are looked up.").edit(|request, _| {
            if let Some(text) = request.path.strip_prefix("/pets/").filter(|_| request.is_get()) {
                let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                if !digits.is_empty() {
                    request.path = format!("/pets/{digits}");
                }
            }
        }),
        // Store orders.
        fault("orders.exists.no-orders", "Store orders get 404.").turns(200, 404, Request::is_orders),
        fault("orders.exists.orders-by-post-only", "Orders get 405.").alters(200, Request::is_orders, |response| {
            response.refuse(405);
            response.set("allow", "POST");
        }),
    ]
}
