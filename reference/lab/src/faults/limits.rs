//! Limits that go wrong at certain times, for certain requests, or for one key because of another.

use std::collections::HashMap;

use serde_json::Value;

use super::{Fault, Members, fault, is_status};
use crate::limiter::{Anchor, Flaw, Policy};
use crate::{Request, Response, ServerState};

const RESET: &str = "x-ratelimit-reset";
const REMAINING: &str = "x-ratelimit-remaining";
const MINUTE: i64 = 60;

/// A second, and the number of requests in it.
#[derive(Default)]
struct Burst(i64, u32);

/// The end of the window that was reported first.
#[derive(Default)]
struct FirstReset(Option<i64>);

/// The minute in which a key was refused last.
#[derive(Default)]
struct Exhausted(Option<i64>);

pub(super) fn faults() -> Vec<Fault> {
    [early(), times(), costs(), unreported(), stored()].into_iter().flatten().collect()
}

/// A refusal that does not come from the limiter whose headers the service reports.
fn shield(status: u16, wait: i64) -> Response {
    let mut response = Response::error(status);
    response.set("retry-after", wait);
    response
}

impl Fault {
    /// Refuses some requests with a valid key in front of everything else.
    fn shields(self, wait: i64, which: impl Fn(&Request, &ServerState) -> bool + Send + Sync + 'static) -> Fault {
        self.before(move |request, server| {
            (server.key_of(request).is_some() && which(request, server)).then(|| shield(429, wait))
        })
    }
}

/// Returns true if at least five requests of this second came before this one.
fn is_sixth(server: &ServerState) -> bool {
    let now = server.now();
    server.own(|Burst(second, requests)| {
        *requests = if *second == now { *requests + 1 } else { 1 };
        *second = now;
        *requests > 5
    })
}

fn early() -> Vec<Fault> {
    vec![
        fault("one-in-twelve", &["quota.not-early"])
            .does("Every twelfth request is answered with 429.")
            .like("a second limiter that forgets to take its own count back")
            .shields(3, |_, server| server.count().is_multiple_of(12)),
        fault("burst-shield", &["quota.not-early"])
            .does("More than five requests in a second are answered with 429.")
            .like("a proxy that allows five requests a second, whatever the plan")
            .shields(1, |_, server| is_sixth(server)),
        fault("shield-with-reset-now", &["quota.not-early"])
            .does("More than five requests in a second are answered with 429, whose Reset is now.")
            .like("a second limiter, per second, which reports its own window")
            .before(|request, server| {
                server.key_of(request)?;
                is_sixth(server).then(|| {
                    let mut response = shield(429, 1);
                    response.set("x-ratelimit-limit", 5);
                    response.set(REMAINING, 0);
                    response.set(RESET, server.now());
                    response
                })
            }),
        fault("secondary-limit", &["list.success"])
            .does("More than five requests in a second are answered with 403 and Retry-After.")
            .like("a second limit in front of the service, which has a status of its own")
            .before(|request, server| {
                server.key_of(request)?;
                is_sixth(server).then(|| {
                    let mut response = shield(403, 1);
                    response.set("x-ratelimit-limit", 60);
                    response.set(REMAINING, 40);
                    response.set(RESET, server.now().div_euclid(MINUTE) * MINUTE + MINUTE);
                    response
                })
            }),
        fault("fetches-at-times", &["quota.not-early"])
            .does("Fetches are answered with 429 from the 10th to the 20th second of every minute.")
            .like("a job that runs every minute and keeps the table of one operation locked")
            .shields(5, |request, server| request.is_get() && (10..20).contains(&server.now().rem_euclid(MINUTE))),
        fault("limiter-before-key", &["auth.before-all-else"])
            .does("Where the limit is exhausted, callers without a key get 429 too.")
            .like("a limiter by address that stands before the check of the key")
            .after(|request, response, server| {
                let minute = server.now().div_euclid(MINUTE);
                server.own(|Exhausted(exhausted)| {
                    if response.status == 429 && server.key_of(request).is_some() {
                        *exhausted = Some(minute);
                    } else if response.status == 401 && *exhausted == Some(minute) {
                        response.refuse(429);
                        response.set("retry-after", MINUTE);
                    }
                });
            }),
        fault("one-count-for-all", &["quota.not-early"])
            .does("All keys share one count.")
            .like("a count for the account that its keys share")
            .flaw(Flaw::OneCount),
    ]
}

fn times() -> Vec<Fault> {
    let target: &[&str] = &["headers.reset-time"];
    let day = Flaw::DayEndsWithMinute;
    vec![
        fault("early-by-20", target)
            .does("X-RateLimit-Reset and Retry-After are 20 seconds early.")
            .like("an end that is rounded down to the third of a minute")
            .after(|_, response, _| {
                response.set(RESET, response.number_of(RESET) - 20);
                if response.status == 429 {
                    response.set("retry-after", (response.number_of("retry-after") - 20).max(1));
                }
            }),
        fault("early-but-retry-after", target)
            .does("X-RateLimit-Reset is 20 seconds early, and Retry-After is right.")
            .like("an end that is stored when a window begins, with the wrong length")
            .limiter(Policy { anchor: Anchor::Request, ..Policy::default() })
            .outside(|_, response, server| {
                if response.status != 401 {
                    response.set(RESET, (response.number_of(RESET) - 20).max(server.now() + 1));
                }
            }),
        fault("stuck", target)
            .does("X-RateLimit-Reset stays what it was at the first request.")
            .like("an end that is computed when the process starts")
            .after(|request, response, server| {
                if server.key_of(request).is_some() {
                    let reset = response.number_of(RESET);
                    response.set(RESET, server.own(|FirstReset(first)| *first.get_or_insert(reset)));
                }
            }),
        fault("prolonged", target)
            .does("Every request begins the window anew.")
            .like("an entry whose time to live begins anew with each request")
            .flaw(Flaw::Prolongs),
        fault("day-ends-with-minute", target)
            .does("Limit and Remaining are those of the day, and Reset is the end of the minute.")
            .like("the day's figures beside the minute's end")
            .flaw(day),
        fault("day-ends-with-minute-but-refusals", target)
            .does(
                "Limit and Remaining are those of the day, and Reset is the end of the minute; a 429 has the minute's \
                 figures.",
            )
            .like("the figures of the day in a filter of their own, and the end from the minute's limiter")
            .flaw(day)
            .answered(429, |_, response, _| {
                response.set("x-ratelimit-limit", 60);
                response.set(REMAINING, 0);
            }),
        fault("refused-now", target)
            .does("X-RateLimit-Reset of a 429 is the present time.")
            .like("an answer of its own for refusals, whose Reset is the time at which it is written")
            .answered(429, |_, response, server| response.set(RESET, server.now())),
    ]
}

fn costs() -> Vec<Fault> {
    let exceeded: &[&str] = &["quota.not-exceeded"];
    vec![
        fault("creations-cost-two", &["quota.every-operation"])
            .does("A creation counts twice.")
            .like("a limiter that is mounted twice on one route")
            .flaw(Flaw::Doubles(Request::is_create)),
        fault("spares-lists", exceeded)
            .does("Lists are counted and never refused.")
            .like("a list that counts, and is served all the same")
            .flaw(Flaw::Spares(Request::is_list)),
        fault("spares-lists-by-status", exceeded)
            .does("Lists by status are counted and never refused.")
            .like("a second handler for lists, which nobody put behind the limiter")
            .flaw(Flaw::Spares(|request| request.is_list() && request.parameter("status").is_some())),
        fault("spares-fetches", &["quota.enforced"])
            .does("Fetches are counted and never refused.")
            .like("a fetch that counts, and is served all the same")
            .flaw(Flaw::Spares(Request::is_get)),
        fault("spares-known-animals", &["quota.enforced"])
            .does("A fetch over the limit is answered with the animal, if there is one.")
            .like("a cache of animals in front of the limiter")
            .outside(|request, response, server| {
                let found = request.id().and_then(|id| server.pet(id));
                if let Some(pet) = found.filter(|_| request.is_get() && response.status == 429) {
                    response.become_json(200, pet);
                }
            }),
        fault("spares-orders", &["quota.enforced"])
            .does("Store orders are counted and never refused.")
            .like("an operation that counts, and is served all the same")
            .flaw(Flaw::Spares(Request::is_orders)),
        fault("cached-lists", &["quota.enforced"])
            .does(
                "A list over the limit is answered like the last one with the same query, if that is less than a \
                 minute old.",
            )
            .like("a cache in front of the limiter")
            .outside(|request, response, server| {
                server.own(|lists: &mut HashMap<String, (i64, Response)>| {
                    if request.is_list() && response.status == 200 {
                        lists.insert(request.query.clone(), (server.now(), response.clone()));
                    } else if request.is_list()
                        && response.status == 429
                        && let Some((_, list)) = lists.get(&request.query).filter(|(at, _)| server.now() - at < MINUTE)
                    {
                        response.status = 200;
                        response.set_json(list.json().unwrap_or_default());
                    }
                });
            }),
        fault("spares-malformed", &["quota.enforced"])
            .does("Creations whose body is not JSON are answered with 400, also over the limit.")
            .like("a parser of bodies that stands before the limiter")
            .flaw(Flaw::Spares(|request| request.is_create() && request.json().is_none())),
        fault("spares-the-first-key", &["quota.enforced"])
            .does("The key that was used first is counted and never refused.")
            .like("a key of the administrator, which no limit holds for")
            .flaw(Flaw::SparesTheFirstKey),
    ]
}

fn unreported() -> Vec<Fault> {
    const FIELDS: [&str; 3] = ["x-ratelimit-limit", REMAINING, RESET];
    let mut silent = fault("nothing-at-all", &["quota.enforced"])
        .does("There is no limit, and no header about one.")
        .like("a service that nobody gave a limiter")
        .after(|_, response, _| FIELDS.iter().for_each(|field| response.remove(field)));
    silent.variation.setting.counts_in_layer = true;
    let silent_lists = fault("silent-on-lists", &["quota.enforced"])
        .does("There is a limit in the headers alone, and lists have none of them.")
        .like("headers from a filter that one route leaves out, without a limiter behind them")
        .flaw(Flaw::NeverRefuses)
        .after(|request, response, _| {
            if request.is_list() {
                FIELDS.iter().for_each(|field| response.remove(field));
            }
        });
    vec![silent, silent_lists]
}

/// Lists begin with the oldest animals: a new animal never reaches a page of a long catalogue.
fn oldest_first(fault: Fault) -> Fault {
    fault.stock(130).after(|request, response, server| {
        let limit = request.number_of("limit").filter(|limit| (1..=100).contains(limit)).unwrap_or(20);
        let status = request.parameter("status").map(Value::from);
        let wanted = server
            .newest()
            .into_iter()
            .rev()
            .filter(|pet| status.as_ref().is_none_or(|status| pet.get("status") == Some(status)));
        response.edit_list(request, |page| *page = wanted.take(usize::try_from(limit).unwrap_or(20)).collect());
    })
}

fn stored() -> Vec<Fault> {
    let invalid = fault("out-of-sight", &["create.refused-stores-nothing"])
        .does("A creation that is refused with 400 stores the animal, and lists begin with the oldest.")
        .like("a row that is written before it is checked");
    let keyless = fault("out-of-sight", &["auth.refused-stores-nothing"])
        .does("A creation that is refused with 401 stores the animal, and lists begin with the oldest.")
        .like("a check of the key after the handler");
    let over = fault("out-of-sight", &["quota.refused-stores-nothing"])
        .does("A creation that is refused with 429 stores the animal, and lists begin with the oldest.")
        .like("a limiter that only replaces the response");
    vec![
        oldest_first(invalid.edit(|request, _| {
            // An animal that is refused for its status is stored without one, and refused afterwards.
            let is_unknown =
                |pet: &Members| pet.get("status").and_then(Value::as_str).is_some_and(|status| !is_status(status));
            if request.is_create() && request.object().is_some_and(|pet| is_unknown(&pet) && pet.contains_key("name")) {
                request.edit_object(|pet| drop(pet.remove("status")));
                request.headers.insert("x-checked-late", 1.into());
            }
        }))
        .after(|request, response, _| {
            if request.headers.contains_key("x-checked-late") && response.status == 201 {
                response.refuse(400);
            }
        }),
        oldest_first(keyless.edit(|request, server| {
            if let Some(key) = server.keys().first().filter(|_| request.is_create() && server.key_of(request).is_none())
            {
                request.authorize(key);
                request.headers.insert("x-checked-late", 1.into());
            }
        }))
        .after(|request, response, _| {
            if request.headers.contains_key("x-checked-late") {
                response.refuse(401);
            }
        }),
        oldest_first(over).flaw(Flaw::CarriesOut),
    ]
}
