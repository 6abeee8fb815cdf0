//! Limits that are not kept: too late, too early, never, or not for every operation.

use animal_store_rules::request::Operation;
use animal_store_rules::trace::Trace;
use jiff::SignedDuration;
use serde_json::json;

use super::Breaking;
use crate::tools::{answer, edit, http_date, last, limited, places, refuse, renumber, server_time, set, window};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("quota.enforced", "a list with nothing remaining gets 503", "free", |trace| {
        let is_list = |at: &usize| trace.exchanges[*at].request.target().starts_with("/pets?");
        let at = places(trace, limited).into_iter().find(is_list).expect("a list that got 429");
        refuse(answer(&mut trace.exchanges[at]), 503);
    })
    .also(&[("list.success", "a lawful list is not answered with 200"), ("list.limit-minimum", "it asks for one")]),
    // The first request over the limit is answered as the one before it.
    Breaking::new("quota.not-exceeded", "one more than the limit is admitted", "free", |trace| {
        let at = *places(trace, limited).first().expect("a 429");
        trace.exchanges[at].outcome = trace.exchanges[at - 1].outcome.clone();
    })
    .also(&[("create.success", "the one more is a creation, and is answered as the list before it")]),
    Breaking::new("quota.not-early", "a window from the first request is cut short", "odd", |trace| {
        before_each_429(trace, 5);
    }),
    // Of a minute, a counter that slides explains that one request is not counted: one from before the run weighs less then.
    Breaking::new("quota.every-operation", "store orders uses nothing up", "day", |trace| {
        let successes = places(trace, |entry| entry.key().is_some() && entry.succeeded());
        let orders =
            places(trace, |entry| entry.operation == Operation::Orders && entry.key().is_some() && entry.succeeded());
        let at = *orders.iter().find(|at| **at > 0 && successes.contains(&(**at - 1))).expect("two successes in a row");
        let before = window(answer(&mut trace.exchanges[at - 1])).remaining;
        set(answer(&mut trace.exchanges[at]), "x-ratelimit-remaining", before);
    }),
    Breaking::new("quota.retry-after", "Retry-After is missing", "day", |trace| {
        last(trace, limited, |response| response.headers.retain(|(name, _)| name != "retry-after"));
    }),
    Breaking::new("quota.retry-after-syntax", "Retry-After stands twice", "day", |trace| {
        last(trace, limited, |response| response.headers.push(("retry-after".to_owned(), "7".to_owned())));
    }),
    Breaking::new("quota.retry-after-suffices", "a request after no wait, as announced, is refused", "free", |trace| {
        let at = places(trace, limited)[0];
        let mut again = trace.exchanges[at].clone();
        set(answer(&mut trace.exchanges[at]), "retry-after", 0);
        again.sent_at = again.received_at + SignedDuration::from_secs(2);
        again.received_at = again.sent_at + SignedDuration::from_millis(1);
        let response = answer(&mut again);
        let date = http_date(server_time(response) + 2);
        set(response, "date", date);
        trace.exchanges.insert(at + 1, again);
        renumber(trace);
    }),
    Breaking::new("quota.recovers", "the key stays limited beyond the date", "odd", never_recover),
    Breaking::new("quota.error-body", "429 says 503 in its body", "day", |trace| {
        last(trace, limited, |response| edit(response, |error| error["status"] = json!(503)));
    }),
];

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
