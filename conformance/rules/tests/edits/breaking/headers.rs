//! Rate-limit headers that are missing, unreadable, or untrue.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;

use super::Breaking;
use crate::tools::{all, answer, created, fetched, http_date, keyed, last, places, remove, set, window};

const LIMIT: &str = "x-ratelimit-limit";
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("headers.limit", "Limit stands twice", "odd", |trace| {
        last(trace, created, |response| response.headers.push((LIMIT.to_owned(), "90".to_owned())));
    }),
    Breaking::new("headers.remaining", "400 has no Remaining", "free", |trace| {
        last(trace, operation_with(400), |response| remove(response, REMAINING));
    }),
    Breaking::new("headers.reset", "Reset is a date", "free", |trace| {
        last(trace, fetched, |response| {
            let date = http_date(window(response).reset);
            set(response, RESET, date);
        });
    }),
    Breaking::new("headers.limit-figure", "a Free key is reported 100", "free", |trace| {
        all(trace, with_rate_limit, |response| set(response, LIMIT, 100));
    }),
    Breaking::new("headers.remaining-range", "Remaining is negative", "free", |trace| {
        last(trace, operation_with(404), |response| set(response, REMAINING, -1));
    }),
    Breaking::new("headers.remaining-falls", "Remaining stays where it is", "pro", |trace| {
        all(trace, with_rate_limit, |response| set(response, REMAINING, 299));
    }),
    Breaking::new("headers.remaining-never-rises", "a refused request gives one back", "free", |trace| {
        let at = places(trace, operation_with(400))[3];
        let before = window(answer(&mut trace.exchanges[at - 1])).remaining;
        set(answer(&mut trace.exchanges[at]), REMAINING, before + 1);
    }),
    Breaking::new("headers.reset-time", "Reset counts milliseconds", "pro", |trace| {
        reset(trace, |reset| reset * 1_000);
    }),
    Breaking::new("headers.reset-time", "the next window ends half a minute after the last", "free", |trace| {
        let last = window(answer(trace.exchanges.last_mut().expect("an exchange"))).reset;
        reset(trace, |reset| if reset == last { reset - 30 } else { reset });
    }),
];

fn with_rate_limit(entry: &Entry<'_>) -> bool {
    entry.key().is_some() && entry.operation != Operation::Elsewhere
}

fn operation_with(status: u16) -> impl Fn(&Entry<'_>) -> bool {
    move |entry| entry.operation != Operation::Elsewhere && keyed(entry, status)
}

/// Reports another Reset on every answer to the key, made of the right one.
fn reset(trace: &mut Trace, change: impl Fn(i64) -> i64) {
    let has_key = |entry: &Entry<'_>| !entry.credential.is_invalid() && entry.operation != Operation::Elsewhere;
    all(trace, has_key, |response| {
        let reset = change(window(response).reset);
        set(response, RESET, reset);
    });
}
