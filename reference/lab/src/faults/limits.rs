//! Limits that go wrong at certain times, for certain requests, or for one key because of another.

use std::collections::HashMap;

use serde_json::Value;

use super::list::limit_of;
use super::{Anchor, Builds, Fault, Flaw, fault, give_key, is_status};
use crate::{Request, Response, ServerState};

const RESET: &str = "x-ratelimit-reset";
const REMAINING: &str = "x-ratelimit-remaining";
const MINUTE: i64 = 60;

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

    /// Refuses more than five requests with a valid key in a second.
    fn shields_from_bursts(self, status: u16, limits: fn(now: i64) -> (i64, i64, i64)) -> Fault {
        self.before(move |request, server| {
            server.key_of(request)?;
            (server.count_within(1) > 5).then(|| {
                let (mut response, (limit, remaining, reset)) = (shield(status, 1), limits(server.now()));
                response.set_limits(limit, remaining, reset);
                response
            })
        })
    }
}

/// The mark of a request that is refused after it was carried out.
const LATE: &str = "x-checked-late";

impl Fault {
    /// Lets lists begin with the oldest animals: a new animal never reaches a page of a long catalogue.
    fn oldest_first(self) -> Fault {
        self.sets(|setting| setting.stock = 130).lists(|page, request, server| {
            let limit = limit_of(request).filter(|limit| (1..=100).contains(limit)).unwrap_or(20);
            let status = request.parameter("status");
            let pets = server.newest().into_iter().rev();
            *page = pets.filter(|pet| status.is_none_or(|status| pet["status"] == status)).take(limit).collect();
        })
    }

    /// Carries some requests out as if they were right, and refuses them with a status afterwards.
    pub(super) fn refuses_late(
        self,
        status: u16,
        make_right: impl Fn(&mut Request, &ServerState) -> bool + Send + Sync + 'static,
    ) -> Fault {
        self.edit(move |request, server| {
            if make_right(request, server) {
                request.headers.insert(LATE, 1.into());
            }
        })
        .after(move |request, response, _| {
            // Without a key, nothing but 401 is right.
            if request.headers.contains_key(LATE) && (response.status == 201 || status == 401) {
                response.refuse(status);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    let day = Flaw::DayEndsWithMinute;
    vec![
        // Refusals within the limit.
        fault("quota.not-early.one-in-twelve", "Every twelfth request gets 429.")
            .shields(3, |_, server| server.count().is_multiple_of(12)),
        fault("quota.not-early.burst-shield", "More than five requests in a second get 429.")
            .shields(1, |_, server| server.count_within(1) > 5),
        fault("quota.not-early.shield-with-reset-now", "More than five requests in a second get 429 and Reset now.")
            .shields_from_bursts(429, |now| (5, 0, now)),
        fault("list.success.secondary-limit", "More than five requests in a second get 403 and Retry-After.")
            .shields_from_bursts(403, |now| (60, 40, now.div_euclid(MINUTE) * MINUTE + MINUTE)),
        fault("quota.not-early.fetches-at-times", "Fetches get 429 from the 10th to the 20th second of a minute.")
            .shields(5, |request, server| request.is_get() && (10..20).contains(&server.now().rem_euclid(MINUTE))),
        fault("auth.before-all-else.limiter-before-key", "At an exhausted limit, callers without a key get 429.")
            .after(|request, response, server| {
                let minute = server.now().div_euclid(MINUTE);
                server.own(|exhausted: &mut Option<i64>| {
                    if response.status == 429 && server.key_of(request).is_some() {
                        *exhausted = Some(minute);
                    } else if response.status == 401 && *exhausted == Some(minute) {
                        response.refuse(429);
                        response.set("retry-after", MINUTE);
                    }
                });
            }),
        fault("quota.not-early.one-count-for-a-plan", "All keys of one plan share one count.").flaw(Flaw::PerPlan),
        fault("quota.not-early.one-count-for-all", "All keys share one count.").flaw(Flaw::OneCount),
        // Reset.
        fault("headers.reset-time.early-by-20", "Reset and Retry-After are 20 seconds early.").after(
            |_, response, _| {
                response.set(RESET, response.number_of(RESET) - 20);
                if response.status == 429 {
                    response.set("retry-after", (response.number_of("retry-after") - 20).max(1));
                }
            },
        ),
        fault("headers.reset-time.early-but-retry-after", "X-RateLimit-Reset is 20 seconds early; Retry-After is not.")
            .limits(|policy| policy.anchor = Anchor::Request)
            .outside(|_, response, server| {
                if response.status != 401 {
                    response.set(RESET, (response.number_of(RESET) - 20).max(server.now() + 1));
                }
            }),
        fault("headers.reset-time.stuck", "Reset stays what it was at first.").after(|request, response, server| {
            if server.key_of(request).is_some() {
                let reset = response.number_of(RESET);
                response.set(RESET, server.own(|first: &mut Option<i64>| *first.get_or_insert(reset)));
            }
        }),
        fault("headers.reset-time.prolonged", "Every request begins the window anew.").flaw(Flaw::Prolongs),
        fault("headers.reset-time.day-ends-with-minute", "Limit and Remaining are the day's, and Reset the minute's.")
            .flaw(day),
        fault("headers.reset-time.day-ends-with-minute-but-refusals", "As day-ends-with-minute, but not with a 429.")
            .flaw(day)
            .answered(429, |_, response, _| {
                response.set("x-ratelimit-limit", 60);
                response.set(REMAINING, 0);
            }),
        fault("headers.reset-time.refused-begin", "X-RateLimit-Reset of a 429 is the beginning of its window.")
            .answered(429, |_, response, _| response.set(RESET, response.number_of(RESET) - MINUTE)),
        fault("headers.reset-time.refused-long-ago", "X-RateLimit-Reset of a 429 lies an hour in the past.")
            .answered(429, |_, response, _| response.set(RESET, response.number_of(RESET) - 3_600)),
        fault("headers.reset-time.refused-now", "X-RateLimit-Reset of a 429 is the present time.")
            .answered(429, |_, response, server| response.set(RESET, server.now())),
        // Requests that cost more, or are spared.
        fault("quota.every-operation.creations-cost-two", "A creation counts twice.")
            .flaw(Flaw::Doubles(Request::is_create)),
        fault("quota.not-exceeded.spares-lists", "Lists are counted and never refused.")
            .flaw(Flaw::Spares(Request::is_list)),
        fault("quota.not-exceeded.spares-lists-by-status", "Lists by status are counted and never refused.")
            .flaw(Flaw::Spares(Request::lists_by_status)),
        fault("quota.enforced.spares-fetches", "Fetches are counted and never refused.")
            .flaw(Flaw::Spares(Request::is_get)),
        fault("quota.enforced.spares-known-animals", "A fetch over the limit shows the animal, if there is one.")
            .outside(|request, response, server| {
                let found = request.id().and_then(|id| server.pet(id));
                if let Some(pet) = found.filter(|_| request.is_get() && response.status == 429) {
                    response.become_json(200, pet);
                }
            }),
        fault("quota.enforced.spares-orders", "Store orders are counted and never refused.")
            .flaw(Flaw::Spares(Request::is_orders)),
        fault("quota.enforced.cached-lists", "A list over the limit is answered from a cache of the last minute.")
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
        fault("quota.enforced.spares-malformed", "Creations whose body is not JSON get 400, also over the limit.")
            .flaw(Flaw::Spares(|request| request.is_create() && request.json().is_none())),
        fault("quota.enforced.spares-the-first-key", "The key that was used first is counted and never refused.")
            .flaw(Flaw::SparesTheFirstKey),
        // Header fields without a limit behind them.
        fault("quota.enforced.nothing-at-all", "There is no limit, and no header about one.")
            .sets(|setting| setting.counts_in_layer = true)
            .after(|_, response, _| response.remove_limits()),
        fault("quota.enforced.silent-on-lists", "Nothing is refused; lists have no headers about a limit.")
            .flaw(Flaw::NeverRefuses)
            .after(|request, response, _| {
                if request.is_list() {
                    response.remove_limits();
                }
            }),
        // Refused creations that are stored.
        fault("create.refused-stores-nothing.out-of-sight", "A creation refused with 400 is stored, beyond the lists.")
            .oldest_first()
            .refuses_late(400, |request, _| {
                // An animal that is refused for its status is stored without one.
                let pet = request.object().filter(|pet| pet.contains_key("name")).unwrap_or_default();
                let is_unknown = pet.get("status").and_then(Value::as_str).is_some_and(|status| !is_status(status));
                if is_unknown {
                    request.edit_object(|pet| drop(pet.remove("status")));
                }
                is_unknown && request.is_create()
            }),
        fault("auth.refused-stores-nothing.out-of-sight", "A creation refused with 401 is stored, beyond the lists.")
            .oldest_first()
            .refuses_late(401, |request, server| {
                request.is_create() && server.key_of(request).is_none() && give_key(request, server)
            }),
        fault("quota.refused-stores-nothing.out-of-sight", "A creation refused with 429 is stored, beyond the lists.")
            .oldest_first()
            .flaw(Flaw::CarriesOut),
    ]
}
