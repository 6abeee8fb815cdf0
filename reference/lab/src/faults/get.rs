//! Get an animal, and store orders.

use serde_json::Value;

use super::{Fault, change, fault, set, set_missing};
use crate::{Request, ServerState};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    [animals(), strangers(), orders()].into_iter().flatten().collect()
}

impl Fault {
    /// Answers fetches of some animals, by their identifiers, with 404.
    fn hides(self, which: impl Fn(i64, &ServerState) -> bool + Send + Sync + 'static) -> Fault {
        self.answered(200, move |request, response, server| {
            if request.is_get() && request.id().is_some_and(|id| which(id, server)) {
                response.refuse(404);
            }
        })
    }
}

fn animals() -> Vec<Fault> {
    vec![
        fault("inner-ids", &["get.success"])
            .does("A fetched animal has another id than was asked for.")
            .like("the database's own id where the public one is meant")
            .shows_in(Request::is_get, |pet| change(pet, "id", |id| Some((id.as_i64()? + 1_000).into()))),
        fault("slow-replica", &["get.success"])
            .does("An animal cannot be fetched for five minutes.")
            .like("reads from a copy that is minutes behind")
            .hides(|id, server| server.timestamp().duration_since(server.born(id)).as_secs() < 300),
        fault("statusless-are-hidden", &["get.success"])
            .does("An animal without a status cannot be fetched.")
            .like("a default scope that leaves out what has no status yet")
            .hides(|id, server| server.pet(id).is_some_and(|pet| pet.get("status").is_none())),
        fault("pending-hidden", &["get.success"])
            .does("An animal that is pending cannot be fetched.")
            .like("a default scope that leaves out what is reserved")
            .hides(|id, server| server.pet(id).is_some_and(|pet| pet["status"] == "pending")),
        fault("fetched-once", &["get.success"])
            .does("An animal can be fetched once.")
            .like("a store that gives away what it is asked for")
            .answered(200, |request, response, server| {
                if request.is_get() && server.memory().cache.insert(request.path.clone(), response.clone()).is_some() {
                    response.refuse(404);
                }
            }),
        fault("one-shard-in-four", &["get.success"])
            .does("One animal in four cannot be fetched.")
            .like("one of four shards that fetches do not reach")
            .hides(|id, _| id % 4 == 0),
        fault("fetched-without-status", &["get.agrees"])
            .does("A fetched animal has no status.")
            .like("a mapping of its own that lacks the newest member")
            .shows_in(Request::is_get, |pet| drop(pet.remove("status"))),
        fault("split-characters", &["get.agrees"])
            .does("A character beyond ASCII in which 4 KiB of a fetched animal end is replaced.")
            .like("a response that is decoded buffer by buffer")
            .on(Plan::Pro)
            .after(|request, response, _| {
                if request.is_get() {
                    let buffers = response.body.chunks(4_096).map(String::from_utf8_lossy);
                    response.body = buffers.collect::<String>().into_bytes();
                }
            }),
        fault("default-in-lists", &["get.agrees"])
            .does("An animal without a status is listed as available, and fetched without one.")
            .like("a default that the query of lists fills in, and nothing else")
            .shows_in(Request::is_list, |pet| set_missing(pet, "status", "available")),
        fault("fetched-as-available", &["get.agrees"])
            .does("A fetched animal is available, whatever its status is.")
            .like("a projection with a default for the status")
            .shows_in(Request::is_get, |pet| set(pet, "status", "available")),
    ]
}

fn strangers() -> Vec<Fault> {
    vec![
        fault("null-for-nobody", &["get.not-found"])
            .does("An id that no animal has is answered with 200 and null.")
            .like("a lookup that returns null, and 200")
            .answered(404, |request, response, _| {
                if request.is_get() && request.id().is_some() {
                    response.become_json(200, Value::Null);
                }
            }),
        fault("nobody-is-204", &["get.not-found"])
            .does("An id that no animal has is answered with 204.")
            .like("an empty optional that a framework turns into 204")
            .answered(404, |request, response, _| {
                if request.is_get() && request.id().is_some() {
                    response.status = 204;
                    response.body.clear();
                }
            }),
        fault("negative-is-bad", &["get.not-found"])
            .does("A negative id is answered with 400.")
            .like("a check that an id is positive")
            .turns(404, 400, |request| request.is_get() && request.id().is_some_and(|id| id < 0)),
        fault("too-large-for-a-column", &["get.not-found"])
            .does("An id of more than 32 bits is answered with 500.")
            .like("an id column of 32 bits")
            .turns(404, 500, |request| request.is_get() && request.id().is_some_and(|id| i32::try_from(id).is_err())),
        fault("cut-to-32-bits", &["get.not-found"])
            .does("Of an id only the lower 32 bits are looked up.")
            .like("an id that is cut to 32 bits on the way")
            .edit(|request, _| {
                if let Some(id) = request.id().filter(|_| request.is_get()) {
                    request.path = format!("/pets/{}", id & 0xffff_ffff);
                }
            }),
        fault("malformed-crash", &["get.malformed-id"])
            .does("An id that is no int64 is answered with 500.")
            .like("a number that is parsed without a look")
            .turns(404, 500, |request| request.is_get() && request.id().is_none()),
        fault("malformed-422", &["get.malformed-id"])
            .does("An id that is no int64 is answered with 422.")
            .like("a framework whose path parameters answer 422")
            .turns(404, 422, |request| request.is_get() && request.id().is_none()),
        fault("leading-digits", &["get.malformed-id"])
            .does("Of an id only the digits at its beginning are looked up.")
            .like("a parser that stops at the first other character")
            .edit(|request, _| {
                if let Some(text) = request.path.strip_prefix("/pets/").filter(|_| request.is_get()) {
                    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                    if !digits.is_empty() {
                        request.path = format!("/pets/{digits}");
                    }
                }
            }),
    ]
}

fn orders() -> Vec<Fault> {
    vec![
        fault("no-orders", &["orders.exists"])
            .does("Store orders are answered with 404.")
            .like("a route that nobody has written yet")
            .turns(200, 404, Request::is_orders),
        fault("orders-by-post-only", &["orders.exists"])
            .does("Store orders are answered with 405.")
            .like("a route for another method only")
            .after(|request, response, _| {
                if request.is_orders() && response.status == 200 {
                    response.refuse(405);
                    response.set("allow", "POST");
                }
            }),
    ]
}
