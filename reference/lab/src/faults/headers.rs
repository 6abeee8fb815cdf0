//! Rate limit headers.

use http::HeaderValue;

use super::{Fault, fault};
use crate::limiter::{Anchor, PLAIN, Policy};
use crate::{Response, ServerState};

const LIMIT: &str = "x-ratelimit-limit";
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

pub(super) fn faults() -> Vec<Fault> {
    [absent(), wrong_values(), times()].into_iter().flatten().collect()
}

/// A fault that reports its limits otherwise.
fn reporting(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response, &ServerState) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |_, response, server| change(response, server))
}

/// A fault that leaves header fields out of answers with one status.
fn without(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    fields: &'static [&'static str],
) -> Fault {
    reporting(name, does, targets, like, move |response, _| {
        if response.status == status {
            fields.iter().for_each(|field| response.remove(field));
        }
    })
}

fn absent() -> Vec<Fault> {
    let all: &[&str] = &["headers.limit", "headers.remaining", "headers.reset"];
    let fields: &[&str] = &[LIMIT, REMAINING, RESET];
    vec![
        without(
            "none-on-401",
            "A 401 has no rate-limit headers.",
            all,
            "a limiter that stands behind the check of the key",
            401,
            fields,
        ),
        without(
            "none-on-404",
            "A 404 has no rate-limit headers.",
            all,
            "an error handler that begins a new answer",
            404,
            fields,
        ),
        without(
            "none-on-400",
            "A 400 has no rate-limit headers.",
            all,
            "validation that answers before the limiter does",
            400,
            fields,
        ),
        without(
            "none-on-429",
            "A 429 has no rate-limit headers.",
            all,
            "a refusal that is written by hand",
            429,
            fields,
        ),
        without(
            "none-on-201",
            "A 201 has no rate-limit headers.",
            all,
            "an operation that was left out of the list",
            201,
            fields,
        ),
        reporting(
            "only-on-429",
            "Only a 429 has rate-limit headers.",
            all,
            "a limiter that says something when it refuses",
            |response, _| {
                if response.status != 429 {
                    fields.iter().for_each(|field| response.remove(field));
                }
            },
        ),
        without(
            "no-limit-on-404",
            "A 404 has no X-RateLimit-Limit.",
            &["headers.limit"],
            "a header that is set with the page",
            404,
            &[LIMIT],
        ),
        without(
            "no-remaining-on-400",
            "A 400 has no X-RateLimit-Remaining.",
            &["headers.remaining"],
            "a count that comes with success",
            400,
            &[REMAINING],
        ),
        without(
            "no-reset-on-401",
            "A 401 has no X-RateLimit-Reset.",
            &["headers.reset"],
            "a reset that only a key has",
            401,
            &[RESET],
        ),
        reporting(
            "limit-with-policy",
            "X-RateLimit-Limit is followed by a policy.",
            &["headers.limit"],
            "the limit and its window in one field",
            |response, _| {
                response.set(LIMIT, format!("{}, 60;w=60", response.header(LIMIT)));
            },
        ),
        reporting(
            "limits-twice",
            "There are two X-RateLimit-Limit.",
            &["headers.limit"],
            "a proxy that adds its own limit",
            |response, _| {
                response.headers.append(LIMIT, HeaderValue::from_static("1000"));
            },
        ),
        reporting(
            "remaining-as-double",
            "X-RateLimit-Remaining has a decimal point.",
            &["headers.remaining"],
            "a count kept as a double",
            |response, _| {
                response.set(REMAINING, format!("{}.0", response.header(REMAINING)));
            },
        ),
        reporting(
            "reset-as-date",
            "X-RateLimit-Reset is a date.",
            &["headers.reset"],
            "a reset written as a date",
            |response, _| {
                response.set(RESET, "2026-06-01T12:01:00Z");
            },
        ),
        reporting(
            "reset-with-fraction",
            "X-RateLimit-Reset has a fraction.",
            &["headers.reset"],
            "a time that has milliseconds behind the point",
            |response, _| {
                response.set(RESET, format!("{}.250", response.header(RESET)));
            },
        ),
    ]
}

fn wrong_values() -> Vec<Fault> {
    vec![
        reporting(
            "limit-of-the-library",
            "X-RateLimit-Limit is 100, whatever the plan is.",
            &["headers.limit-figure"],
            "the figure that a library comes with",
            |response, _| {
                response.set(LIMIT, 100);
            },
        ),
        reporting(
            "limit-of-the-day",
            "X-RateLimit-Limit is the day's 1,000, and Remaining and Reset are the minute's.",
            &["headers.limit-figure"],
            "the wrong one of two constants",
            |response, _| {
                response.set(LIMIT, 1_000);
            },
        ),
        reporting(
            "limit-falls",
            "X-RateLimit-Limit is what X-RateLimit-Remaining is.",
            &["headers.limit-figure"],
            "what remains, reported as the limit",
            |response, _| {
                response.set(LIMIT, response.header(REMAINING).to_owned());
            },
        ),
        fault(
            "creations-have-more",
            "X-RateLimit-Limit is larger by ten for creations.",
            &["headers.limit-figure"],
            "a limit for each route",
        )
        .after(|request, response, _| {
            if request.is_create() {
                response.set(LIMIT, response.number_of(LIMIT) + 10);
                response.set(REMAINING, response.number_of(REMAINING) + 10);
            }
        }),
        reporting(
            "one-below-nought",
            "X-RateLimit-Remaining is -1 with a 429.",
            &["headers.remaining-range"],
            "the limit less a count that goes on",
            |response, _| {
                if response.status == 429 {
                    response.set(REMAINING, -1);
                }
            },
        ),
        reporting(
            "more-than-all",
            "X-RateLimit-Remaining can be larger than the limit.",
            &["headers.remaining-range"],
            "a credit for those who come back",
            |response, _| {
                if response.status == 200 {
                    response.set(REMAINING, 20 + response.number_of(REMAINING));
                }
            },
        ),
        reporting(
            "constant",
            "X-RateLimit-Remaining is always the limit.",
            &["headers.remaining-falls"],
            "a figure that nobody counts down",
            |response, _| {
                response.set(REMAINING, response.header(LIMIT).to_owned());
            },
        ),
        reporting(
            "used-instead",
            "X-RateLimit-Remaining is the number of requests used.",
            &["headers.remaining-never-rises"],
            "the requests used where those left are meant",
            |response, _| {
                response.set(REMAINING, response.number_of(LIMIT) - response.number_of(REMAINING));
            },
        ),
        reporting(
            "never-counted",
            "X-RateLimit-Remaining is always one less than the limit on success.",
            &["headers.remaining-falls"],
            "a count that is read and never written back",
            |response, _| {
                if response.status < 400 {
                    response.set(REMAINING, response.number_of(LIMIT) - 1);
                }
            },
        ),
        reporting(
            "refills",
            "X-RateLimit-Remaining rises by one every second.",
            &["headers.remaining-never-rises"],
            "a bucket that gets a request back every second, reported as a window",
            |response, server| {
                let refilled = response.number_of(REMAINING) + (server.now() - 45).rem_euclid(server.window());
                response.set(REMAINING, refilled.min(response.number_of(LIMIT)));
            },
        ),
        reporting(
            "estimated",
            "X-RateLimit-Remaining jitters.",
            &["headers.remaining-never-rises"],
            "a count that is gathered from many places now and then",
            |response, server| {
                let noise = (server.count() * 7 % 5) as i64;
                response.set(REMAINING, (response.number_of(REMAINING) - noise).max(0));
            },
        ),
    ]
}

fn times() -> Vec<Fault> {
    let target: &[&str] = &["headers.reset-time"];
    vec![
        reporting(
            "milliseconds",
            "X-RateLimit-Reset is in milliseconds.",
            target,
            "a language whose time is in milliseconds",
            |response, _| {
                response.set(RESET, response.number_of(RESET) * 1_000);
            },
        ),
        reporting(
            "delay",
            "X-RateLimit-Reset is the number of seconds left.",
            target,
            "the seconds that are left",
            |response, server| {
                response.set(RESET, response.number_of(RESET) - server.now());
            },
        ),
        reporting(
            "moving-reset",
            "X-RateLimit-Reset is always a minute ahead.",
            target,
            "a minute from now, always",
            |response, server| {
                response.set(RESET, server.now() + server.window());
            },
        ),
        fault(
            "moving-reset-of-a-window",
            "A window begins with the first request after the last one, and X-RateLimit-Reset is always a minute ahead.",
            target,
            "a counter that expires a minute after it was made, and headers that do not ask it",
        )
        .limiter(Policy { anchor: Anchor::Request, ..PLAIN })
        .outside(|_, response, server| response.set(RESET, server.now() + server.window())),
        reporting(
            "reset-of-the-start",
            "X-RateLimit-Reset is the beginning of the window.",
            target,
            "the beginning of the window",
            |response, server| {
                response.set(RESET, response.number_of(RESET) - server.window());
            },
        ),
        reporting(
            "local-time",
            "X-RateLimit-Reset is two hours ahead.",
            target,
            "a time that was meant to be local",
            |response, _| {
                response.set(RESET, response.number_of(RESET) + 7_200);
            },
        ),
        reporting(
            "reset-is-now",
            "X-RateLimit-Reset is the time of the response.",
            target,
            "the time of the answer",
            |response, server| response.set(RESET, server.now()),
        ),
        fault(
            "log-of-half-a-minute",
            "The requests of the last half minute count, instead of a minute.",
            target,
            "a log whose length was taken from another plan",
        )
        .limiter(Policy { anchor: Anchor::Log(30), ..PLAIN }),
        reporting(
            "now-on-404",
            "X-RateLimit-Reset is the time of the response with a 404.",
            target,
            "an error handler without the window at hand",
            |response, server| {
                if response.status == 404 {
                    response.set(RESET, server.now());
                }
            },
        ),
    ]
}
