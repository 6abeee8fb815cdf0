//! Limits that refuse in the middle of a window, or that count more than requests.

use std::collections::BTreeMap;

use animal_store_rules::history::Entry;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Response;
use animal_store_rules::trace::rate_limit::RateHeaders;

use super::Breaking;
use crate::tools::{answer, created, keyed, places, recount, refuse, remove, renumber, server_time, set, window};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "quota.not-early",
        name: "a 429 with a window of its own comes between two answers",
        trace: "free",
        also: &[],
        apply: |trace| interrupt(trace, ends_now),
    },
    Breaking {
        rule: "quota.not-early",
        name: "a 429 comes between two answers of another server",
        trace: "odd",
        also: &[],
        apply: |trace| interrupt(trace, ends_now),
    },
    Breaking {
        rule: "quota.not-early",
        name: "a 429 without rate-limit headers comes between two answers",
        trace: "free",
        also: &[
            ("headers.limit", "the 429 has none"),
            ("headers.remaining", "the 429 has none"),
            ("headers.reset", "the 429 has none"),
        ],
        apply: |trace| {
            interrupt(trace, |refusal| {
                for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
                    remove(refusal, name);
                }
            });
        },
    },
    Breaking {
        rule: "quota.every-operation",
        name: "creations lower Remaining by two",
        trace: "day",
        also: &[],
        apply: double_creations,
    },
];

/// Whether the answer reports a window.
fn has_window(entry: &Entry<'_>) -> bool {
    entry.rate.as_ref().and_then(RateHeaders::window).is_some()
}

/// Puts a refusal between two answers that promise many more.
fn interrupt(trace: &mut Trace, report: fn(&mut Response)) {
    const MANY: u64 = 20;
    let lists = places(trace, |entry| keyed(entry, 200) && has_window(entry));
    let is_free = |at: &&usize| {
        let (before, after) = (&trace.exchanges[**at], &trace.exchanges.get(**at + 1));
        let follows = after.is_some_and(|after| before.received_at <= after.sent_at && lists.contains(&(**at + 1)));
        let remaining = |at: usize| window(trace.exchanges[at].response().expect("an answer")).remaining;
        follows && remaining(**at) > MANY && remaining(**at + 1) > MANY
    };
    let at = *lists.iter().find(is_free).expect("two answers in a row");
    let mut refusal = trace.exchanges[at].clone();
    (refusal.sent_at, refusal.received_at) = (refusal.received_at, refusal.received_at);
    let response = answer(&mut refusal);
    refuse(response, 429);
    set(response, "retry-after", 1);
    report(response);
    trace.exchanges.insert(at + 1, refusal);
    renumber(trace);
}

/// Reports an exhausted window which ends now.
fn ends_now(response: &mut Response) {
    let now = server_time(response);
    set(response, "x-ratelimit-remaining", 0);
    set(response, "x-ratelimit-reset", now);
}

/// Counts every creation twice, in each window by itself.
fn double_creations(trace: &mut Trace) {
    let creations = places(trace, created);
    let keyed = places(trace, |entry| entry.key().is_some() && has_window(entry));
    let mut doubled: BTreeMap<i64, i64> = BTreeMap::new();
    for at in keyed {
        let response = answer(&mut trace.exchanges[at]);
        // Ends so close to each other are those of one window, rounded.
        let reset = window(response).reset;
        let reset = doubled.range(reset - 2..=reset + 2).next().map_or(reset, |(known, _)| *known);
        let more = doubled.entry(reset).or_default();
        *more += i64::from(creations.contains(&at));
        let more = *more;
        recount(response, "x-ratelimit-remaining", |remaining| remaining - more);
    }
}
