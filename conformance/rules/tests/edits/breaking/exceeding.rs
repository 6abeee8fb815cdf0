//! Limits that are not kept: too late, too early, never, not for every operation, or for ever.

use animal_store_rules::history::Entry;
use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Response;
use jiff::SignedDuration;
use serde_json::json;

use super::Breaking;
use crate::tools::{
    all, answer, created, edit, http_date, last, limited, places, recount, refuse, remove, renumber, server_time, set,
    set_json, window,
};

const OVER_ADMITTED: (&str, &str) = ("quota.not-exceeded", "more are admitted than the limit");

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "quota.enforced",
        name: "nothing is ever refused",
        trace: "free",
        also: &[OVER_ADMITTED],
        apply: never_limit,
    },
    Breaking {
        rule: "quota.enforced",
        name: "a list with nothing remaining gets 503",
        trace: "free",
        also: &[("list.success", "a lawful list is not answered with 200"), ("list.limit-minimum", "it asks for one")],
        apply: |trace| {
            let is_list = |at: &usize| trace.exchanges[*at].request.target().starts_with("/pets?");
            let at = places(trace, limited).into_iter().find(is_list).expect("a list that got 429");
            refuse(answer(&mut trace.exchanges[at]), 503);
        },
    },
    Breaking {
        rule: "quota.enforced",
        name: "store orders is answered although the window is exhausted",
        trace: "odd",
        also: &[],
        // Which requests go over the limit is drawn: the last of them becomes one for store orders.
        apply: |trace| {
            let at = *places(trace, limited).last().expect("a 429");
            let exchange = &mut trace.exchanges[at];
            "/store/orders".clone_into(&mut exchange.request.path);
            exchange.request.query = None;
            refuse(answer(exchange), 501);
        },
    },
    Breaking {
        rule: "quota.not-exceeded",
        name: "one more than the limit is admitted",
        trace: "free",
        also: &[("create.success", "the one more is a creation, and is answered as the list before it")],
        apply: admit_one_more,
    },
    Breaking {
        rule: "quota.not-exceeded",
        name: "a minute admits more than two of its figures",
        trace: "day",
        also: &[],
        apply: |trace| repeat(trace, 200),
    },
    Breaking {
        rule: "quota.not-early",
        name: "429 comes eight requests early",
        trace: "free",
        also: &[],
        apply: |trace| before_each_429(trace, 8),
    },
    Breaking {
        rule: "quota.not-early",
        name: "429 comes one request early",
        trace: "free",
        also: &[],
        apply: |trace| before_each_429(trace, 1),
    },
    Breaking {
        rule: "quota.not-early",
        name: "a window from the first request is cut short",
        trace: "odd",
        also: &[],
        apply: |trace| before_each_429(trace, 5),
    },
    Breaking {
        rule: "quota.every-operation",
        name: "a creation uses nothing up",
        trace: "free",
        also: &[],
        apply: |trace| uses_nothing_up(trace, created),
    },
    Breaking {
        rule: "quota.every-operation",
        name: "store orders uses nothing up",
        // Of a minute, a counter that slides explains that one request is not counted: one from before the run weighs less then.
        trace: "day",
        also: &[],
        apply: |trace| uses_nothing_up(trace, |entry| entry.operation == Operation::Orders && entry.succeeded()),
    },
    Breaking {
        rule: "quota.retry-after",
        name: "429 has no Retry-After",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, limited, |response| remove(response, "retry-after")),
    },
    Breaking {
        rule: "quota.retry-after",
        name: "Retry-After is a word",
        trace: "odd",
        also: &[],
        apply: |trace| all(trace, limited, |response| set(response, "retry-after", "soon")),
    },
    Breaking {
        rule: "quota.retry-after",
        name: "Retry-After has a fraction",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, limited, |response| set(response, "retry-after", "11.5")),
    },
    Breaking {
        rule: "quota.retry-after",
        name: "Retry-After is negative",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, limited, |response| set(response, "retry-after", "-1")),
    },
    Breaking {
        rule: "quota.retry-after",
        name: "Retry-After stands twice",
        trace: "day",
        also: &[],
        apply: |trace| {
            last(trace, limited, |response| response.headers.push(("retry-after".to_owned(), "7".to_owned())));
        },
    },
    Breaking {
        rule: "quota.retry-after",
        name: "Retry-After is a date of another form",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, limited, |response| set(response, "retry-after", "2026-06-01T12:01:00Z")),
    },
    Breaking {
        rule: "quota.recovers",
        name: "the key stays limited after the wait",
        trace: "free",
        also: &[],
        apply: never_recover,
    },
    Breaking {
        rule: "quota.recovers",
        name: "the key stays limited beyond the date",
        trace: "odd",
        also: &[],
        apply: never_recover,
    },
    Breaking {
        rule: "quota.recovers",
        name: "a first 429 asks for ten days",
        trace: "free",
        also: &[],
        apply: |trace| with_the_first_429(trace, |response| set(response, "retry-after", 864_000)),
    },
    Breaking {
        rule: "quota.recovers",
        name: "a first 429 asks to come back in a month",
        trace: "day",
        also: &[],
        apply: |trace| {
            with_the_first_429(trace, |response| {
                let date = http_date(server_time(response) + 30 * 86_400);
                set(response, "retry-after", date);
            });
        },
    },
    Breaking {
        rule: "quota.not-early",
        name: "creations stay refused when the key has recovered for lists",
        trace: "free",
        also: &[],
        apply: refuse_a_creation_again,
    },
    Breaking {
        rule: "quota.error-body",
        name: "429 brings a web page",
        trace: "free",
        also: &[],
        apply: |trace| {
            last(trace, limited, |response| {
                response.body = b"<h1>slow down</h1>".to_vec();
                set(response, "content-type", "text/html");
            });
        },
    },
    Breaking {
        rule: "quota.error-body",
        name: "429 brings JSON that is no Error",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, limited, |response| set_json(response, &json!({"error": "slow down"}))),
    },
    Breaking {
        rule: "quota.error-body",
        name: "429 says 503 in its body",
        trace: "day",
        also: &[],
        apply: |trace| last(trace, limited, |response| edit(response, |error| error["status"] = json!(503))),
    },
    Breaking {
        rule: "quota.error-body",
        name: "429 is labelled as text",
        trace: "free",
        also: &[],
        apply: |trace| last(trace, limited, |response| set(response, "content-type", "text/plain")),
    },
];

fn with_the_first_429(trace: &mut Trace, change: impl FnOnce(&mut Response)) {
    let at = *places(trace, limited).first().expect("a 429");
    change(answer(&mut trace.exchanges[at]));
}

/// Sends the request before the first 429 again, so many times, with the same answer.
fn repeat(trace: &mut Trace, times: usize) {
    let at = *places(trace, limited).first().expect("a 429") - 1;
    let again = trace.exchanges[at].clone();
    for time in 0..times {
        let mut next = again.clone();
        let response = answer(&mut next);
        let remaining = window(response).remaining;
        set(response, "x-ratelimit-remaining", remaining.saturating_sub(time as u64 + 1));
        trace.exchanges.insert(at + 1 + time, next);
    }
    // Those that follow in the same window, that of the day, go on from there.
    for exchange in &mut trace.exchanges[at + 1 + times..] {
        let response = answer(exchange);
        if response.header("x-ratelimit-limit") == Some("10000") {
            recount(response, "x-ratelimit-remaining", |remaining| remaining - times as i64);
        }
    }
    renumber(trace);
}

/// Answers the first request over the limit as the one before it.
fn admit_one_more(trace: &mut Trace) {
    let at = *places(trace, limited).first().expect("a 429");
    trace.exchanges[at].outcome = trace.exchanges[at - 1].outcome.clone();
}

fn never_limit(trace: &mut Trace) {
    repeat(trace, 60);
    let refused = places(trace, limited);
    for at in refused.into_iter().rev() {
        trace.exchanges.remove(at);
    }
    renumber(trace);
}

/// Takes the last requests before the first 429 of each window away: they were not sent, and it comes all the same. In a single window,
/// somebody else might have sent as many.
fn before_each_429(trace: &mut Trace, requests: usize) {
    let refused = places(trace, limited);
    let first_of_a_series: Vec<usize> =
        refused.iter().copied().filter(|at| *at > 0 && !refused.contains(&(at - 1))).collect();
    assert!(first_of_a_series.len() > 1, "two windows are exhausted");
    for at in first_of_a_series.into_iter().rev() {
        trace.exchanges.drain(at - requests..at);
        // What comes before it now is answered right before it, or others might have consumed what remained.
        let [before, limited] = &mut trace.exchanges[at - requests - 1..=at - requests] else {
            panic!("a request before")
        };
        let pause = limited.sent_at.duration_since(before.received_at);
        before.sent_at += pause;
        before.received_at += pause;
    }
    renumber(trace);
}

/// Makes Remaining stay where it was before one of the requests that are picked.
fn uses_nothing_up(trace: &mut Trace, pick: fn(&Entry<'_>) -> bool) {
    let successes = places(trace, |entry| entry.key().is_some() && entry.succeeded());
    let picked = places(trace, |entry| pick(entry) && entry.key().is_some());
    let at = *picked.iter().find(|at| **at > 0 && successes.contains(&(**at - 1))).expect("two successes in a row");
    let before = window(answer(&mut trace.exchanges[at - 1])).remaining;
    set(answer(&mut trace.exchanges[at]), "x-ratelimit-remaining", before);
}

/// Answers the first request after the wait as those before it, and the window begins no new one.
/// The key is refused again after the wait, and once more after the wait that this refusal asks for: the first one could be a ban,
/// because two requests had gone over the limit.
fn never_recover(trace: &mut Trace) {
    let refused = places(trace, limited);
    let at = refused[1];
    let next = trace.exchanges[at + 1].request.clone();
    trace.exchanges.truncate(at + 1);
    for _ in 0..2 {
        let last = &trace.exchanges[trace.exchanges.len() - 1];
        let mut again = last.clone();
        again.request = next.clone();
        again.sent_at = last.sent_at + SignedDuration::from_secs(62);
        again.received_at = again.sent_at + SignedDuration::from_millis(1);
        let response = answer(&mut again);
        let date = http_date(server_time(response) + 62);
        set(response, "date", date);
        trace.exchanges.push(again);
    }
    renumber(trace);
}

/// Sends a creation that was refused for the rate again, as soon as something else has got an answer. It is refused until the end of the
/// new window.
fn refuse_a_creation_again(trace: &mut Trace) {
    let refused = places(trace, |entry| limited(entry) && matches!(entry.operation, Operation::Create(_)))[0];
    let recovered = places(trace, |entry| entry.key().is_some() && entry.succeeded());
    let at = *recovered.iter().find(|at| **at > refused).expect("an answer after the wait");
    let mut again = trace.exchanges[at].clone();
    again.request = trace.exchanges[refused].request.clone();
    again.sent_at = again.received_at;
    let response = answer(&mut again);
    let wait = window(response).reset - server_time(response);
    refuse(response, 429);
    set(response, "retry-after", wait);
    trace.exchanges.insert(at + 1, again);
    renumber(trace);
}
