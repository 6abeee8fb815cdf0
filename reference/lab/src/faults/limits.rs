//! Limits, exceeding them, and their headers.

use super::{Anchor, Builds, Fault, Flaw, any, at, fault, give_key};
use crate::response::{LIMIT, REMAINING, RESET};
use crate::{Request, Response, ServerState};

const MINUTE: i64 = 60;
/// A time that no test waits for, in seconds.
const FOR_EVER: i64 = 1 << 40;

/// A refusal that does not come from the limiter whose headers the service reports.
fn shield(status: u16, wait: i64) -> Response {
    let mut response = Response::error(status);
    response.set("retry-after", wait);
    response
}

impl Fault {
    /// Gives a 429 another `Retry-After`.
    fn waits<T: ToString + 'static>(self, wait: fn(&Response) -> T) -> Fault {
        self.answered(429, move |_, response, _| response.set("retry-after", wait(response)))
    }

    /// Reports the day's limit with the end of the minute.
    fn day_ends_with_minute(self) -> Fault {
        self.limits(|policy| policy.reports_day = true)
            .outside(|_, response, server| response.set(RESET, server.window_end()))
    }

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
            let oldest = server.newest().into_iter().rev();
            *page = oldest.filter(|pet| request.selects(pet)).take(request.page_size()).collect();
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
    vec![
        // Counts.
        fault("quota.enforced.never-refuses", "Requests over the limit are admitted.").flaw(Flaw::OffBy(i64::MAX)),
        fault("quota.enforced.refuses-with-503", "Requests over the limit get 503.").turns([429, 503], any),
        fault("quota.enforced.refuses-with-403", "Requests over the limit get 403.").turns([429, 403], any),
        fault("quota.not-exceeded.one-late", "One request more than the limit is admitted.").flaw(Flaw::OffBy(1)),
        fault("quota.not-exceeded.ten-late", "Ten requests more than the limit are admitted.").flaw(Flaw::OffBy(10)),
        fault("quota.not-exceeded.per-process", "Every second request is counted apart.")
            .flaw(Flaw::Parts(|request| request.number % 2)),
        fault("quota.not-exceeded.per-operation", "Each operation has the whole limit.")
            .flaw(Flaw::Parts(|request| u64::from(request.is_list()) + 2 * u64::from(request.is_create()))),
        fault("quota.not-exceeded.per-forwarded-address", "Each address in X-Forwarded-For has the whole limit.")
            .flaw(Flaw::Parts(|request| u64::from(!request.header("x-forwarded-for").is_empty()))),
        fault("quota.every-operation.writes-are-free", "Creations are neither counted nor refused.")
            .flaw(Flaw::Costs(|request| u64::from(!request.is_create()))),
        fault("quota.every-operation.orders-are-free", "Store orders are neither counted nor refused.")
            .flaw(Flaw::Costs(|request| u64::from(!request.is_orders()))),
        fault("quota.every-operation.fetches-are-free", "Fetches are neither counted nor refused.")
            .flaw(Flaw::Costs(|request| u64::from(!request.is_get()))),
        fault("quota.not-exceeded.races", "Of requests at the same time, one is counted.").flaw(Flaw::Races(FOR_EVER)),
        fault("quota.not-exceeded.checks-late", "A request is refused for the requests only that have been answered.")
            .like("a limit that is read before the request and written behind it, with an atomic increment")
            .flaw(Flaw::ChecksLate),
        fault("quota.every-operation.races-at-the-begin", "Of concurrent requests as a window begins, one counts.")
            .flaw(Flaw::Races(2)),
        fault("headers.remaining-never-rises.per-spelling", "Another spelling of the scheme Bearer has another limit.")
            .flaw(Flaw::Parts(|request| u64::from(request.token().is_none()))),
        fault("quota.not-exceeded.admits-every-five-seconds", "Over the limit, one request in five seconds passes.")
            .flaw(Flaw::Spares(|_, count, server| server.now() - count.extra_at >= server.scaled(5))),
        fault("quota.not-exceeded.spares-the-first-window", "Nothing is refused in the first window of a key.")
            // Early in a minute, so that a run exhausts the window in which it begins.
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:05Z"))
            .flaw(Flaw::Spares(|_, count, _| count.windows < 2)),
        fault("quota.not-exceeded.forgives-the-last", "A failed request that leaves nothing resets the count.")
            .flaw(Flaw::ForgivesTheLast),
        fault("quota.not-exceeded.spares-creations", "Creations are counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.is_create())),
        fault("quota.not-early.one-early", "One request less than the limit is admitted.").flaw(Flaw::OffBy(-1)),
        fault("quota.not-early.ten-early", "Ten requests less than the limit are admitted.").flaw(Flaw::OffBy(-10)),
        // Refusals.
        fault("quota.retry-after.no-retry-after", "A 429 has no Retry-After.")
            .answered(429, |_, response, _| response.remove("retry-after")),
        fault("quota.retry-after.empty", "The Retry-After of a 429 is empty.").waits(|_| ""),
        fault("quota.retry-after.no-retry-after-for-creations", "A 429 to a creation has no Retry-After.")
            .sends(at(429, Request::is_create), |response| response.remove("retry-after")),
        fault("quota.retry-after-syntax.negative-wait", "Retry-After is negative.").waits(|_| -3),
        fault("quota.retry-after-syntax.iso-date", "Retry-After is an ISO 8601 date.")
            .waits(|_| "2026-06-01T12:01:00Z"),
        fault("quota.retry-after-syntax.wait-with-unit", "Retry-After has a unit.")
            .waits(|response| format!("{}s", response.header("retry-after"))),
        fault("quota.retry-after-syntax.fractional-wait", "Retry-After has a fraction.")
            .waits(|response| format!("{}.5", response.header("retry-after"))),
        fault("quota.error-body.html-429", "A 429 has a page.")
            .answered(429, |_, response, _| response.set_page("429 Too Many Requests")),
        fault("quota.error-body.text-429", "A 429 has text.").answered(429, |_, response, _| {
            response.set_body("text/plain", "Too many requests, please try again later.");
        }),
        fault("quota.refused-stores-nothing.carried-out", "A creation refused with 429 stores the animal at once.")
            .flaw(Flaw::CarriesOut),
        fault("quota.refused-stores-nothing.queued", "A creation refused with 429 stores the animal afterwards.")
            .stores_refused(429, any),
        // Ends of windows.
        fault("quota.recovers.never-recovers", "A key that was refused once is refused for ever.")
            .flaw(Flaw::RefusesLonger(FOR_EVER)),
        fault("quota.recovers.recovers-late", "A key is refused for 45 seconds more than the headers say.")
            .flaw(Flaw::RefusesLonger(45)),
        fault("quota.not-early.fetches-recover-late", "For five seconds after a window with a 429, fetches get 429.")
            .after(|request, response, server| {
                let (minute, second) = (server.now().div_euclid(MINUTE), server.now().rem_euclid(MINUTE));
                if response.status == 429 {
                    server.is_new(minute);
                } else if server.has_seen(&(minute - 1)) && second < 5 && request.is_get() {
                    response.refuse_for(1);
                }
            }),
        fault("quota.recovers.stays-with-the-connection", "A connection that has seen a 429 gets nothing else.").after(
            |request, response, server| {
                if response.status == 429 {
                    server.is_new(request.connection);
                } else if server.has_seen(&request.connection) && server.key_of(request).is_some() {
                    response.refuse_for(1);
                }
            },
        ),
        fault("headers.remaining-never-rises.half-windows", "The count starts again half a minute before Reset.")
            // Early in a minute, so that half of one passes within it.
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:05Z"))
            .flaw(Flaw::ResetsAfter(30)),
        fault("headers.remaining-never-rises.forgetful", "The count starts again after every 25 requests.")
            .flaw(Flaw::ForgetsAfter(25)),
        fault("quota.retry-after-suffices.no-wait", "A 429 asks for no wait.").waits(|_| 0),
        fault("quota.retry-after-suffices.half-a-wait", "A 429 asks for half of the wait that is left.")
            .waits(|response| response.number_of("retry-after") / 2),
        fault(
            "quota.retry-after-suffices.date-that-has-passed",
            "A 429 asks to wait until a date that is an hour ago.",
        )
        .answered(429, |_, response, server| response.set_date("retry-after", server.now() - 3_600)),
        fault("quota.recovers.three-seconds-late", "A key is refused for three seconds more than the headers say.")
            .flaw(Flaw::RefusesLonger(3)),
        fault("quota.recovers.announced-too-short", "A 429 asks for a wait of one second, which is too short.")
            .waits(|_| 1)
            .answered(429, |_, response, server| response.set(RESET, server.now())),
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
                if response.status == 429 && server.key_of(request).is_some() {
                    server.is_new(minute);
                } else if response.status == 401 && server.has_seen(&minute) {
                    response.refuse_for(MINUTE);
                }
            }),
        fault("quota.not-early.one-count-for-a-plan", "All keys of one plan share one count.")
            .flaw(Flaw::Shares(|limits| -limits.per_minute.cast_signed())),
        fault("quota.not-early.one-count-for-all", "All keys share one count.").flaw(Flaw::Shares(|_| 0)),
        // Reset.
        fault("headers.reset-time.early-by-20", "Reset and Retry-After are 20 seconds early.")
            .after(|_, response, _| response.set(RESET, response.number_of(RESET) - 20))
            .waits(|response| (response.number_of("retry-after") - 20).max(1)),
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
            .day_ends_with_minute(),
        fault("headers.reset-time.day-ends-with-minute-but-refusals", "As day-ends-with-minute, but not with a 429.")
            .outside(|_, response, _| {
                if response.status == 429 {
                    response.set(LIMIT, 60);
                    response.set(REMAINING, 0);
                }
            })
            .day_ends_with_minute(),
        fault("headers.reset-time.refused-begin", "X-RateLimit-Reset of a 429 is the beginning of its window.")
            .answered(429, |_, response, _| response.set(RESET, response.number_of(RESET) - MINUTE)),
        fault("headers.reset-time.refused-long-ago", "X-RateLimit-Reset of a 429 lies an hour in the past.")
            .answered(429, |_, response, _| response.set(RESET, response.number_of(RESET) - 3_600)),
        fault("headers.reset-time.refused-now", "X-RateLimit-Reset of a 429 is the present time.")
            .answered(429, |_, response, server| response.set(RESET, server.now())),
        // Requests that cost more, or are spared.
        fault("quota.every-operation.creations-cost-two", "A creation counts twice.")
            .flaw(Flaw::Costs(|request| 1 + u64::from(request.is_create()))),
        fault("quota.not-exceeded.spares-lists", "Lists are counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.is_list())),
        fault("quota.not-exceeded.spares-lists-by-status", "Lists by status are counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.lists_by("status"))),
        fault("quota.enforced.spares-fetches", "Fetches are counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.is_get())),
        fault("quota.enforced.spares-known-animals", "A fetch over the limit shows the animal, if there is one.")
            .answered(429, |request, response, server| {
                if let Some(pet) = request.id().and_then(|id| server.pet(id)) {
                    response.become_json(200, pet);
                }
            }),
        fault("quota.enforced.spares-orders", "Store orders are counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.is_orders())),
        fault("quota.enforced.cached-lists", "A list over the limit is answered from a cache of the last minute.")
            .answered(429, |request, response, server| {
                if let Some(list) = server.kept(request, MINUTE) {
                    (response.status, response.body) = (200, list.body);
                }
            })
            .keeps(|request, response| request.is_list() && response.status == 200),
        fault("quota.enforced.spares-malformed", "Creations whose body is not JSON get 400, also over the limit.")
            .flaw(Flaw::Spares(|request, _, _| request.is_create() && request.json().is_none())),
        fault("quota.enforced.reads-parameters-first", "A list outside its range is counted and never refused.")
            .flaw(Flaw::Spares(|request, _, _| request.is_list() && request.parameter("limit") == Some("0"))),
        fault("quota.enforced.spares-missing-animals", "A fetch over the limit gets 404, if there is no such animal.")
            .flaw(Flaw::Spares(|request, _, server| request.id().is_some_and(|id| server.pet(id).is_none()))),
        fault("quota.enforced.spares-the-first-key", "The key that was used first is counted and never refused.")
            .flaw(Flaw::Spares(|_, count, _| count.is_first)),
        // Header fields without a limit behind them.
        fault("quota.enforced.nothing-at-all", "There is no limit, and no header about one.")
            .sets(|setting| setting.counts_in_layer = true)
            .after(|_, response, _| response.remove_limits()),
        fault("quota.enforced.silent-on-lists", "Nothing is refused; lists have no headers about a limit.")
            .flaw(Flaw::OffBy(i64::MAX))
            .outside(|request, response, _| {
                if request.is_list() {
                    response.remove_limits();
                }
            }),
        // Refused creations that are stored.
        fault("create.refused-stores-nothing.out-of-sight", "A creation refused with 400 is stored, beyond the lists.")
            .oldest_first()
            .refuses_late(400, |request, _| {
                // An animal that is refused for its status is stored without one.
                let is_unknown = request.has_unknown_status() && !request.lacks("name");
                if is_unknown {
                    request.edit_object(|pet| drop(pet.remove("status")));
                }
                is_unknown
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
