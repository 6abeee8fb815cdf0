//! Policies of clients, lawful and not, and how often each is accused.

use fastrand::Rng;

use super::*;
use crate::trace::exchange::Exchange;
use crate::trace::knowledge::Carrier;
use crate::trace_builder::TraceBuilder;

/// The waits of a client over refusals in a row, in seconds.
type Policy = (&'static str, fn(&mut Rng, usize) -> Vec<f64>);

/// How many clients with each policy are tried.
const CLIENTS: u32 = 100_000;

/// How many times each is refused in a row, after the first.
const WAITS: [usize; 3] = [14, 30, 60];

fn each(count: usize, mut wait: impl FnMut(i32) -> f64) -> Vec<f64> {
    (0..i32::try_from(count).expect("a few")).map(&mut wait).collect()
}

fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least + (most - least) * rng.f64()
}

fn exponential(base: f64, factor: f64, cap: f64, count: usize) -> Vec<f64> {
    each(count, |attempt| (base * factor.powi(attempt)).min(cap))
}

fn full(rng: &mut Rng, bounds: Vec<f64>) -> Vec<f64> {
    bounds.into_iter().map(|bound| bound * rng.f64()).collect()
}

fn equal(rng: &mut Rng, bounds: Vec<f64>) -> Vec<f64> {
    bounds.into_iter().map(|bound| bound * f64::midpoint(1.0, rng.f64())).collect()
}

fn within(rng: &mut Rng, part: f64, bounds: Vec<f64>) -> Vec<f64> {
    bounds.into_iter().map(|bound| bound * between(rng, 1.0 - part, 1.0 + part)).collect()
}

fn decorrelated(rng: &mut Rng, base: f64, cap: f64, count: usize) -> Vec<f64> {
    let mut last = base;
    each(count, |_| {
        last = between(rng, base, 3.0 * last).min(cap);
        last
    })
}

#[rustfmt::skip]
const LAWFUL: &[Policy] = &[
    ("doubling", |_, n| exponential(1.0, 2.0, 60.0, n)),
    ("doubling from 50 ms", |_, n| exponential(0.05, 2.0, 20.0, n)),
    ("doubling from 10 ms, cap 1 s", |_, n| exponential(0.01, 2.0, 1.0, n)),
    ("factor 1.5", |_, n| exponential(0.5, 1.5, 60.0, n)),
    ("factor 1.2", |_, n| exponential(1.0, 1.2, 60.0, n)),
    ("factor 1.2, cap 1.2", |_, n| exponential(1.0, 1.2, 1.2, n)),
    ("doubling, cap 1.2 of the base", |_, n| exponential(1.0, 2.0, 1.2, n)),
    ("doubling, cap 1.45 of the base", |_, n| exponential(1.0, 2.0, 1.45, n)),
    ("full jitter", |rng, n| full(rng, exponential(1.0, 2.0, 60.0, n))),
    ("full jitter from 50 ms", |rng, n| full(rng, exponential(0.05, 2.0, 20.0, n))),
    ("full jitter, factor 1.2", |rng, n| full(rng, exponential(0.1, 1.2, 10.0, n))),
    ("full jitter, factor 1.2, from 50 ms", |rng, n| full(rng, exponential(0.05, 1.2, 10.0, n))),
    ("full jitter, cap at twice the base", |rng, n| full(rng, exponential(1.0, 2.0, 2.0, n))),
    ("full jitter at its cap from the start", |rng, n| full(rng, vec![1.0; n])),
    ("equal jitter", |rng, n| equal(rng, exponential(1.0, 2.0, 60.0, n))),
    ("equal jitter, factor 1.5", |rng, n| equal(rng, exponential(0.5, 1.5, 60.0, n))),
    ("equal jitter, factor 1.2", |rng, n| equal(rng, exponential(0.5, 1.2, 60.0, n))),
    ("equal jitter, cap at twice the base", |rng, n| equal(rng, exponential(1.0, 2.0, 2.0, n))),
    ("decorrelated jitter", |rng, n| decorrelated(rng, 0.2, 5.0, n)),
    ("decorrelated jitter, cap at four times the base", |rng, n| decorrelated(rng, 1.0, 4.0, n)),
    ("a fifth of jitter, factor 1.6", |rng, n| within(rng, 0.2, exponential(1.0, 1.6, 120.0, n))),
    ("resilience4j, ofExponentialBackoff(500, 1.5)", |_, n| exponential(0.5, 1.5, 3600.0, n)),
    ("resilience4j, ofExponentialRandomBackoff(500, 1.5, 0.5)", |rng, n| within(rng, 0.5, exponential(0.5, 1.5, 3600.0, n))),
    ("resilience4j, ofExponentialRandomBackoff(500, 2, 0.5)", |rng, n| within(rng, 0.5, exponential(0.5, 2.0, 3600.0, n))),
    ("tenacity, wait_exponential(multiplier=1, min=4, max=10)", |_, n| each(n, |at| 2_f64.powi(at).clamp(4.0, 10.0))),
    ("tenacity, wait_exponential(multiplier=0.1, min=1, max=60)", |_, n| each(n, |at| (0.1 * 2_f64.powi(at)).clamp(1.0, 60.0))),
    ("tenacity, wait_exponential(multiplier=0.1, min=5)", |_, n| each(n, |at| (0.1 * 2_f64.powi(at)).clamp(5.0, 60.0))),
    ("tenacity, wait_exponential(multiplier=0.05, min=4)", |_, n| each(n, |at| (0.05 * 2_f64.powi(at)).clamp(4.0, 60.0))),
    ("full jitter over a floor of 1 s", |rng, n| full(rng, exponential(0.1, 2.0, 60.0, n)).into_iter().map(|wait| wait.max(1.0)).collect()),
    ("tenacity, wait_random_exponential(multiplier=1, max=60)", |rng, n| full(rng, exponential(1.0, 2.0, 60.0, n))),
    ("tenacity, wait_exponential_jitter()", |rng, n| each(n, |at| (2_f64.powi(at) + rng.f64()).min(60.0))),
    ("tenacity, wait_chain of 3, 3, 3, 7, 7, 9", |_, n| each(n, |at| match at { 0..=2 => 3.0, 3 | 4 => 7.0, _ => 9.0 })),
    ("a client library of an AI service", |rng, n| exponential(0.5, 2.0, 8.0, n).into_iter().map(|wait| wait * between(rng, 0.75, 1.0)).collect()),
    ("a client library of a payment service", |rng, n| equal(rng, exponential(0.5, 2.0, 8.0, n)).into_iter().map(|wait| wait.max(0.5)).collect()),
    ("urllib3, backoff_factor 0.1: 0, 0.2, 0.4", |_, n| each(n, |at| if at == 0 { 0.0 } else { 0.1 * 2_f64.powi(at) })),
    ("linear", |_, n| each(n, |at| f64::from(at + 1))),
    ("Fibonacci", |_, n| { let (mut one, mut next) = (1.0, 1.0); each(n, |_| { let wait = one; (one, next) = (next, one + next); wait }) }),
];

/// What breaks the rule, with the least share in a hundred that is caught.
#[rustfmt::skip]
const BROKEN: &[(Policy, u32)] = &[
    (("no wait", |_, n| vec![0.0; n]), 100),
    (("milliseconds for seconds", |_, n| vec![0.03; n]), 100),
    (("always 100 ms", |_, n| vec![0.1; n]), 95),
    (("always 400 ms", |_, n| vec![0.4; n]), 99),
    (("always 1 s", |_, n| vec![1.0; n]), 100),
    (("always 5 s", |_, n| vec![5.0; n]), 100),
    (("always 1 s, a twentieth of jitter", |rng, n| within(rng, 0.05, vec![1.0; n])), 90),
    (("doubling that overflows to nothing after a while", |_, n| each(n, |at| if at < 1 { 1.0 } else { 0.0 })), 100),
];

/// How many of many clients with a policy are accused.
fn accused(policy: fn(&mut Rng, usize) -> Vec<f64>, count: usize) -> u32 {
    let mut rng = Rng::with_seed(17);
    (0..CLIENTS)
        .map(|_| {
            let mut waits = Waits::default();
            let mut found = false;
            for wait in policy(&mut rng, count) {
                // A timer and the network take a moment more.
                waits.add(wait + between(&mut rng, 0.0002, 0.004));
                found |= waits.short >= SHORT_WAITS;
            }
            found |= waits.unlikely().is_some();
            u32::from(found)
        })
        .sum()
}

#[test]
fn of_a_hundred_thousand_clients_with_a_lawful_policy_at_most_one_is_accused() {
    for (name, policy) in LAWFUL {
        for waits in WAITS {
            let accused = accused(*policy, waits);
            assert!(accused <= 1, "{name}, {waits} waits: {accused}");
        }
    }
}

#[test]
fn clients_without_backoff_are_accused() {
    for ((name, policy), least) in BROKEN {
        for waits in WAITS {
            let share = accused(*policy, waits) * 100 / CLIENTS;
            assert!(share >= *least, "{name}, {waits} waits: {share} of 100");
        }
    }
}

/// Refusals with these waits between them in milliseconds, and with this `Retry-After`, if any.
fn refused(waits: &[i64], retry_after: Option<&str>) -> TraceBuilder {
    let first = TraceBuilder::new().list(200, 1, 60);
    let refused = |builder: TraceBuilder| {
        let builder = builder.list(429, 0, 60);
        match retry_after {
            Some(text) => builder.retry_after(text),
            None => builder,
        }
    };
    waits.iter().fold(refused(first), |builder, wait| refused(builder.wait_millis(*wait)))
}

fn broken(builder: TraceBuilder) -> bool {
    builder.client_broken().contains(&"client.backoff")
}

#[test]
fn the_same_wait_each_time_is_no_backoff() {
    assert!(broken(refused(&[400; 5], None)));
    assert!(broken(refused(&[3; 120], None)), "a client that sends again at once");
    assert!(!broken(refused(&[1000, 1003, 1001, 1002], None)), "a floor below the waits makes four alike");
    assert!(
        broken(refused(&[5000; 5], Some("30"))),
        "it does not wait for what is dictated, so it chose the whole wait"
    );
}

#[test]
fn where_the_recording_begins_with_refusals_the_client_may_have_come_to_its_cap() {
    let refused = |builder: TraceBuilder, wait| builder.wait_millis(wait).list(429, 0, 60);
    assert!(!broken((0..9).fold(TraceBuilder::new(), |builder, _| refused(builder, 30_000))));
    assert!(broken((0..120).fold(TraceBuilder::new(), |builder, _| refused(builder, 5))));
}

#[test]
fn waits_that_fall_are_no_backoff() {
    let falling: Vec<i64> = (0..10).map(|at| 9000 - 300 * at).collect();
    assert!(broken(refused(&falling, None)));
    let longest_first = [[900, 300, 700, 200, 800].as_slice(); 6].concat();
    assert!(!broken(refused(&longest_first, None)), "full jitter at its cap");
}

#[test]
fn waits_that_begin_to_grow_late_are_backoff() {
    let floor = [5000, 5000, 5000, 5000, 5000, 5000];
    assert!(broken(refused(&floor, None)), "a floor that shows no growth is a constant");
    assert!(!broken(refused(&[floor.as_slice(), &[6400, 12_800, 25_600]].concat(), None)));
    let failed = refused(&floor, None).wait_millis(5000).list(503, 0, 60);
    let later = [6400, 12_800].iter().fold(failed, |builder, wait| builder.wait_millis(*wait).list(429, 0, 60));
    assert!(!broken(later), "a failure does not end the waits");
    let short = refused(&[&[1500; 7][..], &[200, 1500, 700]].concat(), None);
    assert!(!broken(short), "full jitter below a cap");
}

#[test]
fn a_part_of_a_recording_that_was_cut_ends_no_run() {
    let admitted = || (0..1_000).fold(TraceBuilder::new(), |builder, _| builder.list(200, 1, 60));
    let refused = |builder: TraceBuilder| {
        (0..7).fold(builder.wait_millis(9), |builder, _| builder.list(429, 0, 60).wait_millis(5_000))
    };
    assert!(!broken(refused(admitted())), "its waits may begin to grow in the next part");
    assert!(broken(refused(admitted()).wait(60).key("sk-Other").list(200, 1, 60)), "the client gave up");
    assert!(broken(refused(TraceBuilder::new().list(200, 1, 60))));
}

#[test]
fn a_client_that_adapts_its_pace_may_have_come_to_its_cap() {
    let paced = |lead: i64, wait: i64| {
        let admitted = TraceBuilder::new().list(200, 1, 60).wait_millis(lead);
        broken((0..9).fold(admitted, |builder, _| builder.list(429, 0, 60).wait_millis(wait)).list(200, 9, 60))
    };
    assert!(!paced(450, 500), "an admitted request makes the wait a tenth shorter");
    assert!(paced(500, 500), "a loop with the same pause after each response");
    assert!(paced(10, 500));
}

#[test]
fn one_task_may_use_two_connections_in_turn() {
    let in_turn = |waits: &[i64]| {
        let second = |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection: 2, others: 1 });
        let first = TraceBuilder::new().list(200, 1, 60).wait_millis(9).list(429, 0, 60).change_last(second);
        let first_again = |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection: 1, others: 1 });
        let refused = |builder: TraceBuilder, wait: &i64| builder.wait_millis(*wait).list(429, 0, 60);
        broken(waits.iter().fold(first, |builder, wait| refused(builder, wait).change_last(first_again)))
    };
    assert!(in_turn(&[300; 12]));
    assert!(in_turn(&[3; 120]));
    assert!(!in_turn(&[300, 600, 1200, 1200, 1200, 1200]));
}

#[test]
fn tasks_that_back_off_together_queue_for_one_connection() {
    let of_tasks = |waits: &[i64]| {
        let refused = refused(waits, None);
        broken(
            refused
                .change_each(|exchange| exchange.request.query = Some(format!("limit={}", exchange.number % 20 + 1))),
        )
    };
    let bursts = [10, 20, 40, 80].map(|wait| [vec![3; 19], vec![wait * 10]].concat()).concat();
    assert!(!of_tasks(&bursts));
    let jitter = [vec![3; 60], vec![300; 3]].concat();
    assert!(!of_tasks(&jitter), "the first attempts of twenty tasks with full jitter");
    assert!(broken(refused(&[3; 13], None)), "one request is repeated");
    let reconnected = refused(&[3; 13], None).change_each(|exchange| {
        exchange.known.carrier = Some(Carrier { connection: exchange.number as u64, others: 0 });
    });
    assert!(broken(reconnected), "and each time on a connection of its own");
    let paced = (0..6).fold(TraceBuilder::new(), |builder, _| builder.wait_millis(60).list(200, 1, 60)).wait_millis(60);
    let single = (0..15).fold(paced, |builder, _| builder.list(429, 0, 60).wait_millis(3));
    assert!(broken(single), "a single task has no queue");
}

#[test]
fn waits_that_grow_are_backoff() {
    assert!(!broken(refused(&[500, 1000, 2000, 2000, 2000, 2000, 2000, 2000, 2000], None)), "a cap");
    let grown = refused(&[1000, 2000, 4000], None).list(200, 59, 60);
    assert_eq!(grown.client_judged("client.backoff"), 1);
}

#[test]
fn a_client_that_waits_for_what_is_dictated_and_a_moment_more_backs_off() {
    assert!(!broken(refused(&[5000; 9], Some("5"))));
    assert_eq!(refused(&[5000; 9], Some("5")).client_judged("client.backoff"), 1);
    assert!(!broken(refused(&[9000; 9], Some("5"))));
}

#[test]
fn each_of_several_connections_may_be_that_of_a_task() {
    // In each round, every connection carries a refused request; before the first one, an admitted request.
    let rounds = |waits: &[i64]| {
        let round = |builder: TraceBuilder, status: u16| {
            (1..=3).fold(builder, |builder, connection| {
                let on =
                    move |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection, others: 2 });
                builder.list(status, 0, 60).change_last(on)
            })
        };
        waits
            .iter()
            .fold(round(round(TraceBuilder::new(), 200), 429), |builder, wait| round(builder.wait_millis(*wait), 429))
    };
    assert!(broken(rounds(&[400; 9])));
    assert!(broken(rounds(&[302, 307, 304, 313, 303, 305, 306, 302, 312])), "a busy machine");
    assert!(!broken(rounds(&[400, 800, 1600, 1600, 1600, 1600, 1600, 1600])));
    let later = |builder: TraceBuilder| {
        let on = |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection: 1, others: 2 });
        let admitted = builder.wait(9).list(200, 1, 60).change_last(on);
        (0..9).fold(admitted, |builder, _| builder.list(429, 0, 60).change_last(on).wait_millis(400))
    };
    assert!(!broken(later(rounds(&[400, 300, 500]))), "the connection may be that of a task at its cap");
}
