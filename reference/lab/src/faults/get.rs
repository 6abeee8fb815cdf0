//! Get an animal, store orders, and faults of stored animals: stored twice, taken for another, cut, or remembered as missing.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::create::{Kept, show_kept};
use super::{Builds, Fault, at, change, fault, of, rare, set, set_missing};
use crate::{Request, Response, ServerState};

impl Fault {
    /// Answers fetches of some animals, by their identifiers, with 404.
    pub(super) fn hides(self, which: impl Fn(i64, &ServerState) -> bool + Send + Sync + 'static) -> Fault {
        self.sends(
            move |request, response, server| response.status == 200 && request.id().is_some_and(|id| which(id, server)),
            |response| response.refuse(404),
        )
    }
}

/// Returns true for the ids of the 25 animals that were created last.
fn is_kept(server: &ServerState, id: i64) -> bool {
    server.newest().iter().take(25).any(|pet| pet["id"] == id)
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
        fault("get.success.fetched-once", "An animal can be fetched once.").hides(|id, server| !server.is_new(id)),
        fault("get.success.one-shard-in-four", "One animal in four cannot be fetched.").hides(|id, _| id % 4 == 0),
        fault("get.agrees.fetched-without-status", "A fetched animal has no status.")
            .shows_in(Request::is_get, |pet| drop(pet.remove("status"))),
        rare("get.agrees.split-characters", "A character beyond ASCII across 4 KiB of a fetched animal is replaced.")
            .sends(of(Request::is_get), |response| {
                response.body = response.body.chunks(4_096).map(String::from_utf8_lossy).collect::<String>().into();
            }),
        fault("get.agrees.default-in-lists", "A listed animal without a status is available, unlike a fetched one.")
            .shows_in(Request::is_list, |pet| set_missing(pet, "status", "available")),
        fault("get.agrees.fetched-as-available", "A fetched animal is available, whatever its status is.")
            .shows_in(Request::is_get, |pet| set(pet, "status", "available")),
        // Identifiers that no animal has.
        fault("get.not-found.null-for-nobody", "An id that no animal has gets 200 and null.")
            .sends(at(404, |request| request.id().is_some()), |response| response.become_json(200, Value::Null)),
        fault("get.not-found.nobody-is-204", "An unused id gets 204.")
            .sends(at(404, |request| request.id().is_some()), Response::empty),
        fault("get.not-found.negative-is-bad", "A negative id gets 400.")
            .turns([404, 400], |request| request.id().is_some_and(i64::is_negative)),
        fault("get.not-found.too-large-for-a-column", "An id of more than 32 bits gets 500, if no animal has it.")
            .turns([404, 500], |request| request.id().is_some_and(|id| i32::try_from(id).is_err())),
        fault("get.not-found.cut-to-32-bits", "Of an id only the lower 32 bits are looked up.")
            .edit(|request, _| request.look_up(|id| Some(id.parse::<i64>().ok()? & 0xffff_ffff))),
        fault("get.not-found.the-one-before", "An id that no animal has gets the animal whose id is one less.").edit(
            |request, server| {
                let is_next = |id: &i64| server.pet(*id).is_none() && server.pet(id.wrapping_sub(1)).is_some();
                request.look_up(|id| Some(id.parse().ok().filter(is_next)? - 1));
            },
        ),
        fault("get.malformed-id.malformed-crash", "A malformed id gets 500.")
            .turns([404, 500], Request::gets_malformed),
        fault("get.malformed-id.malformed-422", "A malformed id gets 422.").turns([404, 422], Request::gets_malformed),
        fault("get.malformed-id.leading-digits", "Only the first digits of an id are looked up.").edit(|request, _| {
            let digits = |id: &str| id.chars().take_while(char::is_ascii_digit).collect::<String>();
            request.look_up(|id| Some(digits(id)).filter(|digits| !digits.is_empty()));
        }),
        // Store orders.
        fault("orders.exists.no-orders", "Store orders get 404.").turns([200, 404], Request::is_orders),
        fault("orders.exists.orders-by-post-only", "Orders get 405.").sends(at(200, Request::is_orders), |response| {
            response.refuse(405);
            response.set("allow", "POST");
        }),
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
            .replays(|request| &request.body),
        fault("list.complete.newest-25-kept", "Only the newest 25 animals are kept.")
            .lists(|pets, _, server| pets.retain(|pet| pet["id"].as_i64().is_some_and(|id| is_kept(server, id))))
            .hides(|id, server| !is_kept(server, id)),
        fault("get.success.remembers-404", "An id that got 404 once stays 404.")
            .answered(404, |request, _, server| {
                server.is_new(request.id());
            })
            .hides(|id, server| server.has_seen(&Some(id))),
        fault("get.success.remembers-404-for-seven-seconds", "An id that got 404 stays 404 for seven seconds.")
            .answered(404, |request, _, server| {
                let now = server.timestamp();
                server.own(|missed: &mut HashMap<Option<i64>, Timestamp>| *missed.entry(request.id()).or_insert(now));
            })
            .hides(|id, server| {
                let missed = server.own(|missed: &mut HashMap<Option<i64>, Timestamp>| missed.get(&Some(id)).copied());
                missed.is_some_and(|missed| server.timestamp().duration_since(missed).as_secs() < 7)
            }),
        fault("create.echo.compatibility-forms", "A ligature in a name becomes its letters.")
            .renames(|name| Some(name.replace('\u{fb01}', "fi"))),
        fault("create.echo.cut-at-nul", "A name is cut at its first zero character.")
            .renames(|name| name.split('\0').next().map(str::to_owned)),
    ]
}
