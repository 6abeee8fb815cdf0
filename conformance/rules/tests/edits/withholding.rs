//! Nobody is accused for what is unknown: parts of lawful traces are taken away, withheld and made less exact, in any combination.
//!
//! A few hundred are tried each time; ten thousand and more by
//! `cargo test --release -p animal-store-rules --test edits withheld_of_many -- --ignored --nocapture`.

use animal_store_rules::history::History;
use animal_store_rules::rules::broken;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Response};
use animal_store_rules::trace::knowledge::{Extent, Fact, Knowledge};
use fastrand::Rng;
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};

use super::lawful::lawful_edits;
use super::tools::renumber;
use super::{TRACES, recording};

/// One way to know less.
type Withholding = (&'static str, fn(&mut Trace, &mut Rng));

const WITHHOLDINGS: &[Withholding] = &[
    ("some exchanges are missing", |trace, rng| {
        let kept = rng.f64();
        thin(trace, |_| rng.f64() < kept);
    }),
    ("one exchange is missing", |trace, rng| {
        let missing = rng.usize(..trace.exchanges.len().max(1));
        thin(trace, |at| at != missing);
    }),
    ("a middle is missing", |trace, rng| {
        let (one, other) = (rng.usize(..=trace.exchanges.len()), rng.usize(..=trace.exchanges.len()));
        thin(trace, |at| at < one.min(other) || at >= one.max(other));
    }),
    ("the recording began late", |trace, rng| {
        let begun = rng.usize(..=trace.exchanges.len());
        thin(trace, |at| at >= begun);
    }),
    // What is left is as complete as before.
    ("the recording ended early", |trace, rng| trace.exchanges.truncate(rng.usize(..=trace.exchanges.len()))),
    ("what was created is missing", |trace, rng| {
        let created: Vec<bool> = trace.exchanges.iter().map(|exchange| exchange.request.method == "POST").collect();
        thin(trace, |at| !created[at] || rng.bool());
    }),
    ("what failed is missing, as where a client tries again", |trace, _| {
        let failed: Vec<bool> = trace.exchanges.iter().map(|exchange| exchange.status() >= Some(400)).collect();
        thin(trace, |at| !failed[at]);
    }),
    ("keys are redacted", |trace, rng| {
        withhold(trace, rng, Fact::Credential, |exchange, _| exchange.request.authorization = None);
    }),
    ("request bodies are left out", |trace, rng| {
        withhold(trace, rng, Fact::RequestBody, |exchange, _| exchange.request.body = None);
    }),
    ("request bodies are truncated", |trace, rng| {
        withhold(trace, rng, Fact::RequestBody, |exchange, rng| {
            if let Some(body) = &mut exchange.request.body {
                body.bytes.truncate(rng.usize(..=body.bytes.len()));
            }
        });
    }),
    ("response bodies are left out", |trace, rng| {
        withhold(trace, rng, Fact::ResponseBody, |exchange, _| {
            respond(exchange, |response| response.body = Vec::new());
        });
    }),
    ("response bodies are truncated", |trace, rng| {
        withhold(trace, rng, Fact::ResponseBody, |exchange, rng| {
            respond(exchange, |response| response.body.truncate(rng.usize(..=response.body.len())));
        });
    }),
    ("response headers are left out", |trace, rng| {
        withhold(trace, rng, Fact::ResponseHeaders, |exchange, _| {
            respond(exchange, |response| response.headers = Vec::new());
        });
    }),
    ("a response header is redacted", |trace, rng| {
        withhold(trace, rng, Fact::ResponseHeaders, |exchange, rng| {
            respond(exchange, |response| {
                if let Some((_, value)) = rng.choice(&mut response.headers) {
                    "[redacted]".clone_into(value);
                }
            });
        });
    }),
    ("times are rounded to the second", |trace, rng| round(trace, rng, Unit::Second, SignedDuration::from_secs(1))),
    ("times are rounded to the minute", |trace, rng| round(trace, rng, Unit::Minute, SignedDuration::from_mins(1))),
    ("times are missing", |trace, rng| {
        withhold(trace, rng, Fact::Times, |exchange, _| {
            (exchange.sent_at, exchange.received_at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
            exchange.known.precision = Knowledge::NO_TIME;
        });
    }),
    ("requests at the same time stand in another order", |trace, rng| {
        for at in 1..trace.exchanges.len() {
            let history = History::new(trace);
            if !history.entries[at - 1].precedes(&history.entries[at]) && rng.bool() {
                trace.exchanges.swap(at - 1, at);
                renumber(trace);
            }
        }
    }),
];

/// Keeps the exchanges that are picked by their places. What is left is a sample.
fn thin(trace: &mut Trace, mut keeps: impl FnMut(usize) -> bool) {
    let mut at = 0..;
    trace.exchanges.retain(|_| keeps(at.next().expect("there is always another")));
    trace.context.extent = Extent::Sample;
    renumber(trace);
}

/// Withholds a fact of some exchanges, or of all.
fn withhold(trace: &mut Trace, rng: &mut Rng, fact: Fact, mut hide: impl FnMut(&mut Exchange, &mut Rng)) {
    let share = if rng.bool() { 1.0 } else { rng.f64() };
    for exchange in &mut trace.exchanges {
        if rng.f64() < share {
            exchange.known.withheld.insert(fact);
            hide(exchange, rng);
        }
    }
}

fn respond(exchange: &mut Exchange, change: impl FnOnce(&mut Response)) {
    if let Outcome::Response(response) = &mut exchange.outcome {
        change(response);
    }
}

fn round(trace: &mut Trace, rng: &mut Rng, unit: Unit, precision: SignedDuration) {
    let mode = if rng.bool() { RoundMode::Trunc } else { RoundMode::HalfExpand };
    let rounded =
        |time: Timestamp| time.round(TimestampRound::new().smallest(unit).mode(mode)).expect("a time in this century");
    withhold(trace, rng, Fact::Times, |exchange, _| {
        exchange.sent_at = rounded(exchange.sent_at);
        exchange.received_at = rounded(exchange.received_at);
        exchange.known.precision = exchange.known.precision.max(precision);
    });
}

/// Of a lawful trace, possibly edited, some parts are withheld; what was done, and the requirements that are broken then.
fn know_less(seed: u64) -> (String, Vec<&'static str>) {
    let mut rng = Rng::with_seed(seed);
    let name = TRACES[rng.usize(..TRACES.len())];
    let mut trace = recording::load(name);
    let mut done = format!("{name}, seed {seed}");
    let edits: Vec<_> = lawful_edits().collect();
    for _ in 0..rng.usize(..3) {
        let edit = edits[rng.usize(..edits.len())];
        (edit.apply)(&mut trace, &mut rng);
        done += &format!("; {}", edit.name);
    }
    if rng.bool() {
        trace.context.extent = Extent::Sample;
        done += "; a sample";
    }
    for _ in 0..=rng.usize(..4) {
        let (what, withhold) = WITHHOLDINGS[rng.usize(..WITHHOLDINGS.len())];
        withhold(&mut trace, &mut rng);
        done += &format!("; {what}");
    }
    (done, broken(&trace).into_iter().collect())
}

fn nobody_is_accused(seeds: std::ops::Range<u64>) {
    let accused: Vec<_> = seeds.map(know_less).filter(|(_, broken)| !broken.is_empty()).take(5).collect();
    assert!(accused.is_empty(), "{accused:#?}");
}

#[test]
fn whatever_is_withheld_of_a_lawful_trace_nothing_is_broken() {
    nobody_is_accused(0..150);
}

#[test]
#[ignore = "takes minutes"]
fn whatever_is_withheld_of_many_lawful_traces_nothing_is_broken() {
    nobody_is_accused(0..20_000);
}

#[test]
fn a_rule_that_needs_what_is_withheld_is_not_exercised_and_says_so() {
    use animal_store_rules::catalogue::scope::Scope;
    use animal_store_rules::verdict::{Status, judge};
    let mut trace = recording::load("free");
    for exchange in &mut trace.exchanges {
        exchange.known.withheld.insert(Fact::ResponseBody);
    }
    let all = trace.exchanges.len();
    let verdicts = judge(&trace, &Scope::default());
    let of = |id: &str| verdicts.iter().find(|verdict| verdict.requirement.id == id).expect("a verdict");
    for id in ["service.json", "list.complete", "create.refused-stores-nothing"] {
        assert_eq!(of(id).status, Status::NotExercised, "{id}");
        let reason = of(id).reason.as_deref().unwrap_or_default();
        assert!(reason.contains(&format!("the response body of {all} of {all}")), "{id}: {reason}");
    }
    for id in ["list.success", "headers.limit", "quota.not-exceeded", "auth.missing-key"] {
        assert_eq!(of(id).status, Status::Pass, "{id}");
    }
}
