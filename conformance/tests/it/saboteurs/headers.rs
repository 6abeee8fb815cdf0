//! Rate limit headers.

use axum::http::HeaderValue;

use super::{Saboteur, saboteur};
use crate::layers::limiter::{Anchor, FREE, Policy};
use crate::layers::{Answer, Stage};

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
    change: impl Fn(&mut Answer, &Stage) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |_, answer, stage| change(answer, stage))
}

/// A saboteur that leaves header fields out of answers with one status.
fn without(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    status: u16,
    fields: &'static [&'static str],
) -> Saboteur {
    telling(name, targets, like, move |answer, _| {
        if answer.status == status {
            fields.iter().for_each(|field| answer.remove(field));
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
        telling("limit-with-policy", &["headers.limit"], "the limit and its window in one field", |answer, _| {
            answer.set(LIMIT, format!("{}, 60;w=60", answer.header(LIMIT)));
        }),
        telling("limits-twice", &["headers.limit"], "a proxy that adds its own limit", |answer, _| {
            answer.headers.append(LIMIT, HeaderValue::from_static("1000"));
        }),
        telling("remaining-as-double", &["headers.remaining"], "a count kept as a double", |answer, _| {
            answer.set(REMAINING, format!("{}.0", answer.header(REMAINING)));
        }),
        telling("reset-as-date", &["headers.reset"], "a reset told as a date", |answer, _| {
            answer.set(RESET, "2026-06-01T12:01:00Z");
        }),
        telling(
            "reset-with-fraction",
            &["headers.reset"],
            "a time that has milliseconds behind the point",
            |answer, _| {
                answer.set(RESET, format!("{}.250", answer.header(RESET)));
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
            |answer, _| {
                answer.set(LIMIT, 100);
            },
        ),
        telling("limit-falls", &["headers.limit-figure"], "what remains, told as the limit", |answer, _| {
            answer.set(LIMIT, answer.header(REMAINING).to_owned());
        }),
        saboteur("creations-have-more", &["headers.limit-figure"], "a limit for each route").after(|ask, answer, _| {
            if ask.is_create() {
                answer.set(LIMIT, answer.number_of(LIMIT) + 10);
                answer.set(REMAINING, answer.number_of(REMAINING) + 10);
            }
        }),
        telling(
            "one-below-nought",
            &["headers.remaining-range"],
            "the limit less a count that goes on",
            |answer, _| {
                if answer.status == 429 {
                    answer.set(REMAINING, -1);
                }
            },
        ),
        telling("more-than-all", &["headers.remaining-range"], "a credit for those who come back", |answer, _| {
            if answer.status == 200 {
                answer.set(REMAINING, 20 + answer.number_of(REMAINING));
            }
        }),
        telling("constant", &["headers.remaining-falls"], "a figure that nobody counts down", |answer, _| {
            answer.set(REMAINING, answer.header(LIMIT).to_owned());
        }),
        telling(
            "used-instead",
            &["headers.remaining-never-rises"],
            "the requests used where those left are meant",
            |answer, _| {
                answer.set(REMAINING, answer.number_of(LIMIT) - answer.number_of(REMAINING));
            },
        ),
        telling(
            "never-counted",
            &["headers.remaining-falls"],
            "a count that is read and never written back",
            |answer, _| {
                if answer.status < 400 {
                    answer.set(REMAINING, answer.number_of(LIMIT) - 1);
                }
            },
        ),
        telling(
            "refills",
            &["headers.remaining-never-rises"],
            "a bucket that gets a request back every second, told as a window",
            |answer, stage| {
                let refilled = answer.number_of(REMAINING) + (stage.now() - 45).rem_euclid(60);
                answer.set(REMAINING, refilled.min(answer.number_of(LIMIT)));
            },
        ),
        telling(
            "estimated",
            &["headers.remaining-never-rises"],
            "a count that is gathered from many places now and then",
            |answer, stage| {
                let noise = i64::try_from(stage.count() * 7 % 5).expect("small");
                answer.set(REMAINING, (answer.number_of(REMAINING) - noise).max(0));
            },
        ),
    ]
}

fn times() -> Vec<Saboteur> {
    let target: &[&str] = &["headers.reset-time"];
    vec![
        telling("milliseconds", target, "a language whose time is in milliseconds", |answer, _| {
            answer.set(RESET, answer.number_of(RESET) * 1_000);
        }),
        telling("delay", target, "the seconds that are left", |answer, stage| {
            answer.set(RESET, answer.number_of(RESET) - stage.now());
        }),
        telling("moving-reset", target, "a minute from now, always", |answer, stage| {
            answer.set(RESET, stage.now() + 60);
        }),
        telling("reset-of-the-start", target, "the beginning of the window", |answer, _| {
            answer.set(RESET, answer.number_of(RESET) - 60);
        }),
        telling("local-time", target, "a time that was meant to be local", |answer, _| {
            answer.set(RESET, answer.number_of(RESET) + 7_200);
        }),
        telling("reset-is-now", target, "the time of the answer", |answer, stage| answer.set(RESET, stage.now())),
        saboteur("log-of-half-a-minute", target, "a log whose length was taken from another plan")
            .limiter(Policy { anchor: Anchor::Log(30), ..FREE }),
        telling("now-on-404", target, "an error handler without the window at hand", |answer, stage| {
            if answer.status == 404 {
                answer.set(RESET, stage.now());
            }
        }),
    ]
}
