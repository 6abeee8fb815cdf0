//! Rate limit headers.

use super::{Anchor, Builds, Fault, fault, of, success};
use crate::response::{LIMIT, REMAINING, RESET};
use crate::{Request, Response};

impl Fault {
    /// Leaves header fields out of the responses with one status.
    fn without(self, status: u16, fields: &'static [&'static str]) -> Fault {
        self.answered(status, |_, response, _| fields.iter().for_each(|field| response.remove(field)))
    }

    /// Leaves all rate-limit header fields out of the responses with some statuses.
    fn silent(self, is_silent: fn(status: u16) -> bool) -> Fault {
        self.also(&["headers.remaining", "headers.reset"])
            .sends(move |_, response, _| is_silent(response.status), Response::remove_limits)
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Header fields that are absent or malformed.
        fault("headers.limit.none-on-401", "A 401 has no rate-limit headers.").silent(|status| status == 401),
        fault("headers.limit.none-on-404", "A 404 has no rate-limit headers.").silent(|status| status == 404),
        fault("headers.limit.none-on-400", "A 400 has no rate-limit headers.").silent(|status| status == 400),
        fault("headers.limit.none-on-429", "A 429 has no rate-limit headers.").silent(|status| status == 429),
        fault("headers.limit.none-on-201", "A 201 has no rate-limit headers.").silent(|status| status == 201),
        fault("headers.limit.none-at-the-end", "The last response of a connection, as its client asks, has no fields.")
            .also(&["headers.remaining", "headers.reset"])
            .sends(|request, _, _| request.header("connection") == "close", Response::remove_limits),
        fault("headers.limit.only-on-429", "Only a 429 has rate-limit headers.").silent(|status| status != 429),
        fault("headers.limit.no-limit-on-404", "A 404 has no X-RateLimit-Limit.").without(404, &[LIMIT]),
        fault("headers.remaining.no-remaining-on-400", "A 400 has no X-RateLimit-Remaining.")
            .without(400, &[REMAINING]),
        fault("headers.reset.no-reset-on-401", "A 401 has no X-RateLimit-Reset.").without(401, &[RESET]),
        fault("headers.limit.limit-with-policy", "X-RateLimit-Limit is followed by a policy.")
            .after(|_, response, _| response.set(LIMIT, format!("{}, 60;w=60", response.header(LIMIT)))),
        fault("headers.limit.limits-twice", "There are two X-RateLimit-Limit.")
            .after(|_, response, _| response.add(LIMIT, 1_000)),
        fault("headers.remaining.remaining-as-double", "X-RateLimit-Remaining has a decimal point.")
            .after(|_, response, _| response.set(REMAINING, format!("{}.0", response.header(REMAINING)))),
        fault("headers.reset.reset-as-date", "X-RateLimit-Reset is a date.")
            .after(|_, response, _| response.set(RESET, "2026-06-01T12:01:00Z")),
        fault("headers.reset.reset-with-fraction", "X-RateLimit-Reset has a fraction.")
            .after(|_, response, _| response.set(RESET, format!("{}.250", response.header(RESET)))),
        // Limit and Remaining.
        fault("headers.limit-figure.limit-of-the-library", "X-RateLimit-Limit is 100, whatever the plan is.")
            .after(|_, response, _| response.set(LIMIT, 100)),
        fault("headers.limit-figure.limit-of-the-day", "Limit is the day's; Remaining and Reset are the minute's.")
            .after(|_, response, _| response.set(LIMIT, 1_000)),
        fault("headers.limit-figure.limit-falls", "X-RateLimit-Limit is what X-RateLimit-Remaining is.")
            .after(|_, response, _| response.set(LIMIT, response.header(REMAINING).to_owned())),
        fault("headers.limit-figure.creations-have-more", "X-RateLimit-Limit is larger by ten for creations.").sends(
            of(Request::is_create),
            |response| {
                [LIMIT, REMAINING].into_iter().for_each(|name| response.set(name, response.number_of(name) + 10));
            },
        ),
        fault("headers.remaining-range.one-below-zero", "X-RateLimit-Remaining is -1 with a 429.")
            .answered(429, |_, response, _| response.set(REMAINING, -1)),
        fault("headers.remaining-range.more-than-all", "X-RateLimit-Remaining can be larger than the limit.")
            .answered(200, |_, response, _| response.set(REMAINING, 20 + response.number_of(REMAINING))),
        fault("headers.remaining-falls.constant", "X-RateLimit-Remaining is always the limit.")
            .after(|_, response, _| response.set(REMAINING, response.header(LIMIT).to_owned())),
        fault("headers.remaining-never-rises.used-instead", "X-RateLimit-Remaining is the number of requests used.")
            .after(|_, response, _| response.set(REMAINING, response.number_of(LIMIT) - response.number_of(REMAINING))),
        fault("headers.remaining-falls.never-counted", "X-RateLimit-Remaining is one less than the limit on success.")
            .sends(success, |response| response.set(REMAINING, response.number_of(LIMIT) - 1)),
        fault("headers.remaining-never-rises.refills", "Remaining rises every second.").after(|_, response, server| {
            let refilled = response.number_of(REMAINING) + (server.now() - 45).rem_euclid(server.window());
            response.set(REMAINING, refilled.min(response.number_of(LIMIT)));
        }),
        fault("headers.remaining-never-rises.estimated", "Remaining jitters.").after(|_, response, server| {
            let noise = (server.count() * 7 % 5) as i64;
            response.set(REMAINING, (response.number_of(REMAINING) - noise).max(0));
        }),
        // Reset.
        fault("headers.reset-time.milliseconds", "X-RateLimit-Reset is in milliseconds.")
            .after(|_, response, _| response.set(RESET, response.number_of(RESET) * 1_000)),
        fault("headers.reset-time.delay", "X-RateLimit-Reset is the number of seconds left.")
            .after(|_, response, server| response.set(RESET, response.number_of(RESET) - server.now())),
        fault("headers.reset-time.moving-reset", "X-RateLimit-Reset is always a minute ahead.")
            .after(|_, response, server| response.set(RESET, server.now() + server.window())),
        fault("headers.reset-time.moving-reset-of-a-window", "Windows begin with requests; Reset is a minute ahead.")
            .limits(|policy| policy.anchor = Anchor::Request)
            .outside(|_, response, server| response.set(RESET, server.now() + server.window())),
        fault("headers.reset-time.reset-of-the-start", "X-RateLimit-Reset is the beginning of the window.")
            .after(|_, response, server| response.set(RESET, response.number_of(RESET) - server.window())),
        fault("headers.reset-time.local-time", "X-RateLimit-Reset is two hours ahead.")
            .after(|_, response, _| response.set(RESET, response.number_of(RESET) + 7_200)),
        fault("headers.reset-time.reset-is-now", "X-RateLimit-Reset is the time of the response.")
            .after(|_, response, server| response.set(RESET, server.now())),
        fault("headers.reset-time.log-of-half-a-minute", "The requests of the last half minute count.")
            .limits(|policy| policy.anchor = Anchor::Log(30)),
        fault("headers.reset-time.now-on-404", "X-RateLimit-Reset is the time of the response with a 404.")
            .answered(404, |_, response, server| response.set(RESET, server.now())),
    ]
}
