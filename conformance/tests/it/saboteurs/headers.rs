//! Rate limit headers.

use axum::http::HeaderValue;

use super::{Saboteur, saboteur};
use crate::layers::limiter::{Anchor, FREE, Policy};
use crate::layers::{Response, ServerState};

const LIMIT: &str = "x-ratelimit-limit";
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [absent(), plan_limits(), times()].into_iter().flatten().collect()
}

/// A saboteur that tells its limits otherwise.
fn telling(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response, &ServerState) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |_, response, server| change(response, server))
}

/// A saboteur that leaves header fields out of answers with one status.
fn without(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    fields: &'static [&'static str],
) -> Saboteur {
    telling(name, targets, like, move |response, _| {
        if response.status == status {
            fields.iter().for_each(|field| response.remove(field));
        }
    })
}

fn absent() -> Vec<Saboteur> {
    let all: &[&str] = &["headers.limit", "headers.remaining", "headers.reset"];
    let fields: &[&str] = &[LIMIT, REMAINING, RESET];
    vec![
        without("none-on-401", all, "a limiter that stands behind the check of the key", 401, fields),
        without("none-on-404", all, "an error handler that begins a new answer", 404, fields),
        without("none-on-400", all, "validation that answers before the limiter does", 400, fields),
        without("none-on-429", all, "a refusal that is written by hand", 429, fields),
        without("none-on-201", all, "an operation that was left out of the list", 201, fields),
        without("no-limit-on-404", &["headers.limit"], "a header that is set with the page", 404, &[LIMIT]),
        without("no-remaining-on-400", &["headers.remaining"], "a count that comes with success", 400, &[REMAINING]),
        without("no-reset-on-401", &["headers.reset"], "a reset that only a key has", 401, &[RESET]),
        telling("limit-with-policy", &["headers.limit"], "the limit and its window in one field", |response, _| {
            response.set(LIMIT, format!("{}, 60;w=60", response.header(LIMIT)));
        }),
        telling("limits-twice", &["headers.limit"], "a proxy that adds its own limit", |response, _| {
            response.headers.append(LIMIT, HeaderValue::from_static("1000"));
        }),
        telling("remaining-as-double", &["headers.remaining"], "a count kept as a double", |response, _| {
            response.set(REMAINING, format!("{}.0", response.header(REMAINING)));
        }),
        telling("reset-as-date", &["headers.reset"], "a reset told as a date", |response, _| {
            response.set(RESET, "2026-06-01T12:01:00Z");
        }),
        telling(
            "reset-with-fraction",
            &["headers.reset"],
            "a time that has milliseconds behind the point",
            |response, _| {
                response.set(RESET, format!("{}.250", response.header(RESET)));
            },
        ),
    ]
}

fn plan_limits() -> Vec<Saboteur> {
    vec![
        telling(
            "limit-of-the-library",
            &["headers.limit-figure"],
            "the figure that a library comes with",
            |response, _| {
                response.set(LIMIT, 100);
            },
        ),
        telling("limit-falls", &["headers.limit-figure"], "what remains, told as the limit", |response, _| {
            response.set(LIMIT, response.header(REMAINING).to_owned());
        }),
        saboteur("creations-have-more", &["headers.limit-figure"], "a limit for each route").after(
            |request, response, _| {
                if request.is_create() {
                    response.set(LIMIT, response.number_of(LIMIT) + 10);
                    response.set(REMAINING, response.number_of(REMAINING) + 10);
                }
            },
        ),
        telling(
            "one-below-nought",
            &["headers.remaining-range"],
            "the limit less a count that goes on",
            |response, _| {
                if response.status == 429 {
                    response.set(REMAINING, -1);
                }
            },
        ),
        telling("more-than-all", &["headers.remaining-range"], "a credit for those who come back", |response, _| {
            if response.status == 200 {
                response.set(REMAINING, 20 + response.number_of(REMAINING));
            }
        }),
        telling("constant", &["headers.remaining-falls"], "a figure that nobody counts down", |response, _| {
            response.set(REMAINING, response.header(LIMIT).to_owned());
        }),
        telling(
            "used-instead",
            &["headers.remaining-never-rises"],
            "the requests used where those left are meant",
            |response, _| {
                response.set(REMAINING, response.number_of(LIMIT) - response.number_of(REMAINING));
            },
        ),
        telling(
            "never-counted",
            &["headers.remaining-falls"],
            "a count that is read and never written back",
            |response, _| {
                if response.status < 400 {
                    response.set(REMAINING, response.number_of(LIMIT) - 1);
                }
            },
        ),
        telling(
            "refills",
            &["headers.remaining-never-rises"],
            "a bucket that gets a request back every second, told as a window",
            |response, server| {
                let refilled = response.number_of(REMAINING) + (server.now() - 45).rem_euclid(60);
                response.set(REMAINING, refilled.min(response.number_of(LIMIT)));
            },
        ),
        telling(
            "estimated",
            &["headers.remaining-never-rises"],
            "a count that is gathered from many places now and then",
            |response, server| {
                let noise = i64::try_from(server.count() * 7 % 5).expect("small");
                response.set(REMAINING, (response.number_of(REMAINING) - noise).max(0));
            },
        ),
    ]
}

fn times() -> Vec<Saboteur> {
    let target: &[&str] = &["headers.reset-time"];
    vec![
        telling("milliseconds", target, "a language whose time is in milliseconds", |response, _| {
            response.set(RESET, response.number_of(RESET) * 1_000);
        }),
        telling("delay", target, "the seconds that are left", |response, server| {
            response.set(RESET, response.number_of(RESET) - server.now());
        }),
        telling("moving-reset", target, "a minute from now, always", |response, server| {
            response.set(RESET, server.now() + 60);
        }),
        telling("reset-of-the-start", target, "the beginning of the window", |response, _| {
            response.set(RESET, response.number_of(RESET) - 60);
        }),
        telling("local-time", target, "a time that was meant to be local", |response, _| {
            response.set(RESET, response.number_of(RESET) + 7_200);
        }),
        telling("reset-is-now", target, "the time of the answer", |response, server| response.set(RESET, server.now())),
        saboteur("log-of-half-a-minute", target, "a log whose length was taken from another plan")
            .limiter(Policy { anchor: Anchor::Log(30), ..FREE }),
        telling("now-on-404", target, "an error handler without the window at hand", |response, server| {
            if response.status == 404 {
                response.set(RESET, server.now());
            }
        }),
    ]
}
