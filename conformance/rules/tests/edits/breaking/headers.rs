//! Rate-limit headers that are missing, unreadable, or untrue.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Response};
use jiff::SignedDuration;

use super::Breaking;
use crate::tools::{
    all, answer, created, fetched, http_date, keyed, last, limited, listed, places, remove, renumber, server_time, set,
    window,
};

const LIMIT: &str = "x-ratelimit-limit";
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "headers.limit",
        name: "401 has no Limit",
        trace: "free",
        also: &[],
        apply: |trace| all(trace, |entry| entry.status() == Some(401), |response| remove(response, LIMIT)),
    },
    Breaking {
        rule: "headers.limit",
        name: "Limit has a unit",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, listed, |response| set(response, LIMIT, "300 per minute")),
    },
    Breaking {
        rule: "headers.limit",
        name: "Limit stands twice",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, created, |response| response.headers.push((LIMIT.to_owned(), "90".to_owned()))),
    },
    Breaking {
        rule: "headers.remaining",
        name: "400 has no Remaining",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, operation_with(400), |response| remove(response, REMAINING)),
    },
    Breaking {
        rule: "headers.remaining",
        name: "Remaining is written with a fraction",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, listed, |response| set(response, REMAINING, "59.0")),
    },
    Breaking {
        rule: "headers.remaining",
        name: "429 has no Remaining",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, limited, |response| remove(response, REMAINING)),
    },
    Breaking {
        rule: "headers.reset",
        name: "404 has no Reset",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, operation_with(404), |response| remove(response, RESET)),
    },
    Breaking {
        rule: "headers.reset",
        name: "Reset is a date",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, fetched, |response| {
                let date = http_date(window(response).reset);
                set(response, RESET, date);
            });
        },
    },
    Breaking {
        rule: "headers.limit-figure",
        name: "a Free key is reported 100",
        trace: "free",
        also: &[],
        apply: |trace| all(trace, with_rate_limit, |response| set(response, LIMIT, 100)),
    },
    Breaking {
        rule: "headers.limit-figure",
        name: "Limit takes three values",
        trace: "pro",
        also: &[],
        apply: |trace| {
            trace.context.plan_limits = None;
            let places = places(trace, with_rate_limit);
            for (at, limit) in places.into_iter().zip([600, 900]) {
                set(answer(&mut trace.exchanges[at]), LIMIT, limit);
            }
        },
    },
    Breaking {
        rule: "headers.limit-figure",
        name: "creations have a limit of their own",
        trace: "free",
        also: &[("quota.every-operation", "what one limit counts, the other does not")],
        apply: |trace| {
            trace.context.plan_limits = None;
            all(trace, created, |response| {
                let window = window(response);
                set(response, LIMIT, window.limit + 10);
                set(response, REMAINING, window.remaining + 10);
            });
        },
    },
    Breaking {
        rule: "headers.remaining-range",
        name: "Remaining is negative",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, operation_with(404), |response| set(response, REMAINING, -1)),
    },
    Breaking {
        rule: "headers.remaining-range",
        name: "more remains than the limit",
        trace: "odd",
        also: &[],
        apply: |trace| {
            last(trace, operation_with(401), |response| {
                let limit = window(response).limit;
                set(response, REMAINING, limit + 1);
            });
        },
    },
    Breaking {
        rule: "headers.remaining-falls",
        name: "Remaining stays where it is",
        trace: "pro",
        also: &[],
        apply: |trace| all(trace, with_rate_limit, |response| set(response, REMAINING, 299)),
    },
    Breaking {
        rule: "headers.remaining-never-rises",
        name: "a refused request gives one back",
        trace: "free",
        also: &[],
        apply: |trace| {
            let at = places(trace, operation_with(400))[3];
            let before = window(answer(&mut trace.exchanges[at - 1])).remaining;
            set(answer(&mut trace.exchanges[at]), REMAINING, before + 1);
        },
    },
    Breaking {
        rule: "headers.remaining-never-rises",
        name: "the window begins anew before its end",
        trace: "pro",
        also: &[],
        apply: |trace| {
            for at in places(trace, with_rate_limit).into_iter().skip(40) {
                let response = answer(&mut trace.exchanges[at]);
                let remaining = window(response).remaining;
                set(response, REMAINING, remaining + 30);
            }
        },
    },
    Breaking {
        rule: "headers.reset-time",
        name: "Reset counts milliseconds",
        trace: "pro",
        also: &[],
        apply: |trace| reset(trace, |reset, _| reset * 1_000),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "Reset is a delay",
        trace: "pro",
        also: &[],
        apply: |trace| reset(trace, |_, _| 42),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "Reset moves on with every answer",
        trace: "free",
        also: &[("quota.every-operation", "in a window that has just begun, nothing can have been used before")],
        apply: |trace| reset(trace, |_, now| now + 60),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "the next window ends half a minute after the last",
        trace: "free",
        also: &[],
        apply: |trace| {
            let last = window(answer(trace.exchanges.last_mut().expect("an exchange"))).reset;
            reset(trace, |reset, _| if reset == last { reset - 30 } else { reset });
        },
    },
    Breaking {
        rule: "headers.reset-time",
        name: "every Reset is twenty seconds early",
        trace: "free",
        also: &[],
        apply: |trace| reset(trace, |reset, _| reset - 20),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "the figures of the day come with the end of the minute",
        trace: "free",
        also: &[],
        apply: report_the_day,
    },
    Breaking {
        rule: "headers.reset-time",
        name: "the figure of a minute comes with the end of the day",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, listed, |response| set_reset(response, 86_400)),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "a 401 reports a Reset of yesterday",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, operation_with(401), |response| set_reset(response, -86_400)),
    },
    Breaking {
        rule: "headers.reset-time",
        name: "every answer comes in the last second of its window, in a run of ten seconds",
        trace: "pro",
        also: &[],
        apply: |trace| {
            let half = trace.exchanges.len() / 2;
            delay(&mut trace.exchanges[half..], 10);
            reset(trace, |_, now| now + 1);
        },
    },
    Breaking {
        rule: "headers.reset-time",
        name: "the end of the window comes nearer by twenty seconds",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, operation_with(200), |response| set_reset(response, -20)),
    },
];

fn with_rate_limit(entry: &Entry<'_>) -> bool {
    entry.key().is_some() && entry.operation != Operation::Elsewhere
}

fn operation_with(status: u16) -> impl Fn(&Entry<'_>) -> bool {
    move |entry| {
        entry.operation != Operation::Elsewhere
            && (keyed(entry, status) || status == 401 && entry.status() == Some(401))
    }
}

/// Reports another Reset on every answer to the key, made of the right one and of the time.
fn reset(trace: &mut Trace, change: impl Fn(i64, i64) -> i64) {
    all(
        trace,
        |entry| !entry.credential.is_invalid() && entry.operation != Operation::Elsewhere,
        |response| {
            let reset = change(window(response).reset, server_time(response));
            set(response, RESET, reset);
        },
    );
}

fn set_reset(response: &mut Response, later: i64) {
    let reset = window(response).reset;
    set(response, RESET, reset + later);
}

/// Reports the limit of the day, and what remains of it, and leaves the Reset as it is. Nothing is refused, and some seconds of each window
/// have passed when its first request is sent.
fn report_the_day(trace: &mut Trace) {
    const DAY: u64 = 1_000;
    trace.exchanges.retain(|exchange| exchange.status() != Some(429));
    renumber(trace);
    let (mut end, mut base, mut latest) = (0, 0, 0);
    for at in places(trace, |entry| !entry.credential.is_invalid() && entry.operation != Operation::Elsewhere) {
        let window = window(answer(&mut trace.exchanges[at]));
        let used = window.limit - window.remaining;
        // Ends so close to each other are those of one window, rounded.
        if window.reset > end + 2 {
            (end, base) = (window.reset, latest + 1 - used);
            delay(&mut trace.exchanges[at..], 5);
        }
        latest = latest.max(base + used);
        let response = answer(&mut trace.exchanges[at]);
        set(response, LIMIT, DAY);
        set(response, REMAINING, DAY - base - used);
    }
}

/// Lets exchanges happen so many seconds later.
fn delay(exchanges: &mut [Exchange], seconds: i64) {
    for exchange in exchanges {
        exchange.sent_at += SignedDuration::from_secs(seconds);
        exchange.received_at += SignedDuration::from_secs(seconds);
        let response = answer(exchange);
        let date = http_date(server_time(response) + seconds);
        set(response, "date", date);
    }
}
