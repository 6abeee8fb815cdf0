//! The same answers at other times: clocks that are off, slow answers, rounded seconds, runs that ended early.

use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Response;
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use super::Lawful;
use crate::tools::{answer, every, http_date, recount, remove, renumber, set};

pub(super) const EDITS: &[Lawful] = &[
    Lawful { name: "the server's clock is off", hides: None, apply: server_clock },
    Lawful { name: "the judge's clock is off", hides: None, apply: judge_clock },
    Lawful {
        name: "the server has no clock to report a Date by",
        hides: Some("without a Date times can be judged roughly only"),
        apply: no_date,
    },
    Lawful {
        name: "answers take seconds to arrive",
        hides: Some("requests overlap, so their order is uncertain"),
        apply: slow,
    },
    Lawful { name: "Reset is rounded now up, now down", hides: None, apply: rounded_reset },
    Lawful { name: "Reset is rounded down by a second", hides: None, apply: early_reset },
    Lawful { name: "Date is a second old", hides: None, apply: old_date },
    Lawful { name: "the run ended early", hides: Some("what was to be edited may be missing"), apply: ended_early },
    Lawful {
        name: "a part of the traffic was somebody else's",
        hides: Some("what was to be edited may be missing"),
        apply: somebody_else,
    },
];

/// The day of removal, in Unix seconds.
const REMOVAL: i64 = 1_922_659_200;

/// Seconds by which a clock is off: less than a day.
fn offset(random: &mut Rng) -> i64 {
    random.i64(-86_000..86_000)
}

fn server_clock(trace: &mut Trace, random: &mut Rng) {
    let Some(date) = trace.exchanges[0].response().and_then(Response::date) else { return };
    // Not back before the day of removal, which a server goes by.
    let off = if date.as_second() > REMOVAL { random.i64(0..86_000) } else { offset(random) };
    every(trace, |response| {
        if let Some(date) = response.date() {
            set(response, "date", http_date(date.as_second() + off));
        }
        recount(response, "x-ratelimit-reset", |reset| reset + off);
        if let Some(until) = response.header("retry-after").and_then(|text| httpdate::parse_http_date(text).ok()) {
            let until = Timestamp::try_from(until).expect("a date within reach").as_second();
            set(response, "retry-after", http_date(until + off));
        }
    });
}

/// Moves all times of the judge's clock.
fn shift(trace: &mut Trace, by: SignedDuration) {
    for exchange in &mut trace.exchanges {
        exchange.sent_at += by;
        exchange.received_at += by;
    }
}

fn judge_clock(trace: &mut Trace, random: &mut Rng) {
    // Where no Date reports the time, the judge's clock must be right.
    if trace.exchanges.iter().all(|exchange| exchange.response().is_some_and(|response| response.date().is_some())) {
        shift(trace, SignedDuration::from_secs(offset(random) * 100));
    }
}

fn no_date(trace: &mut Trace, _: &mut Rng) {
    let Some(date) = trace.exchanges[0].response().and_then(Response::date) else { return };
    let off = date.duration_since(trace.exchanges[0].received_at);
    shift(trace, off);
    every(trace, |response| remove(response, "date"));
}

fn slow(trace: &mut Trace, random: &mut Rng) {
    for exchange in &mut trace.exchanges {
        exchange.received_at += SignedDuration::from_millis(random.i64(0..3_000));
    }
}

fn rounded_reset(trace: &mut Trace, random: &mut Rng) {
    every(trace, |response| {
        recount(response, "x-ratelimit-reset", |reset| reset + i64::from(random.bool()));
    });
}

fn early_reset(trace: &mut Trace, _: &mut Rng) {
    every(trace, |response| recount(response, "x-ratelimit-reset", |reset| reset - 1));
}

fn old_date(trace: &mut Trace, random: &mut Rng) {
    every(trace, |response| {
        if let Some(date) = response.date().filter(|_| random.bool()) {
            set(response, "date", http_date(date.as_second() - 1));
        }
    });
}

fn ended_early(trace: &mut Trace, random: &mut Rng) {
    trace.exchanges.truncate(random.usize(1..=trace.exchanges.len()));
}

/// Every fourth request or so was sent by another client with the same key, so the judge has not seen it. Those right before a 429
/// stay, because a key of which somebody else takes the last requests only cannot be reported from one that is limited early.
fn somebody_else(trace: &mut Trace, random: &mut Rng) {
    let mut kept = Vec::new();
    let mut since_limited = usize::MAX;
    for mut exchange in trace.exchanges.drain(..).rev() {
        let limited = answer(&mut exchange).status == 429;
        since_limited = if limited { 0 } else { since_limited.saturating_add(1) };
        if since_limited < 8 || random.u8(0..4) > 0 {
            kept.push(exchange);
        }
    }
    kept.reverse();
    trace.exchanges = kept;
    // So the names of the others are not this run's alone.
    trace.context.name_mark = None;
    renumber(trace);
}
