//! Many edits at once, drawn at random with a fixed seed: lawful ones stay lawful together, and hide nothing that is broken.

use std::panic::{AssertUnwindSafe, catch_unwind};

use animal_store_rules::rules::broken;
use animal_store_rules::trace::Trace;
use fastrand::Rng;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::breaking::{Breaking, breaking_edits};
use super::lawful::{Lawful, lawful_edits};
use super::{TRACES, recording};

/// Printed by a red test, and the same in every run.
const SEED: u64 = 20_301_205;

/// A runner that draws so many cases.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(SEED),
        max_shrink_iters: 60,
        ..Config::default()
    })
}

/// The places of some of so many edits, in any order, with what each draws at random.
fn some(edits: usize) -> impl Strategy<Value = Vec<(usize, u64)>> {
    let places: Vec<usize> = (0..edits).collect();
    subsequence(places, 1..=10).prop_shuffle().prop_flat_map(|places| {
        let seeds = prop::collection::vec(any::<u64>(), places.len());
        seeds.prop_map(move |seeds| places.iter().copied().zip(seeds).collect())
    })
}

/// Makes these edits, and reports which they were.
fn apply(edits: &[&Lawful], drawn: &[(usize, u64)], trace: &mut Trace) -> String {
    let mut reported = format!("the seed is {SEED}; after");
    for (at, seed) in drawn {
        (edits[*at].apply)(trace, &mut Rng::with_seed(*seed));
        reported += &format!("\n  {} ({seed})", edits[*at].name);
    }
    reported
}

#[test]
fn lawful_edits_are_lawful_together() {
    let traces = TRACES.map(recording::load);
    let edits: Vec<&Lawful> = lawful_edits().collect();
    let outcome = runner(60).run(&(0..TRACES.len(), some(edits.len())), |(at, drawn)| {
        let mut trace = traces[at].clone();
        let reported = apply(&edits, &drawn, &mut trace);
        let broken = broken(&trace);
        prop_assert!(broken.is_empty(), "{} breaks {broken:?}; {reported}", TRACES[at]);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Each two different ones in either order, on each trace, several times.
#[test]
#[ignore = "takes minutes"]
fn lawful_edits_are_lawful_in_pairs() {
    const TIMES: u64 = 4;
    let traces = TRACES.map(recording::load);
    let edits: Vec<&Lawful> = lawful_edits().collect();
    let pairs = (0..edits.len()).flat_map(|first| (0..edits.len()).map(move |second| [first, second]));
    let pairs = pairs.filter(|[first, second]| first != second);
    let mut accused = Vec::new();
    for ([first, second], times) in pairs.flat_map(|pair| (0..TIMES).map(move |times| (pair, times))) {
        for (at, trace) in traces.iter().enumerate() {
            let mut trace = trace.clone();
            let reported = apply(&edits, &[(first, SEED + times), (second, SEED - times)], &mut trace);
            let broken = broken(&trace);
            if !broken.is_empty() {
                accused.push(format!("{} breaks {broken:?}; {reported}", TRACES[at]));
            }
        }
    }
    assert!(accused.is_empty(), "{} are accused:\n{}", accused.len(), accused.join("\n"));
}

#[test]
fn a_breaking_edit_is_caught_among_lawful_ones() {
    let breaking: Vec<&Breaking> = breaking_edits().collect();
    let edits: Vec<&Lawful> = lawful_edits().filter(|edit| edit.hides.is_none()).collect();
    let outcome = runner(60).run(&(0..breaking.len(), some(edits.len())), |(at, drawn)| {
        let breaking = breaking[at];
        let mut trace = recording::load(breaking.trace);
        let reported = apply(&edits, &drawn, &mut trace);
        let applied = catch_unwind(AssertUnwindSafe(|| (breaking.apply)(&mut trace)));
        prop_assert!(applied.is_ok(), "{} ({}) finds nothing to edit; {reported}", breaking.name, breaking.trace);
        let (caught, related) = (broken(&trace), breaking.breaks());
        let unrelated: Vec<_> = caught.difference(&related).collect();
        prop_assert!(
            caught.contains(breaking.rule) && unrelated.is_empty(),
            "{} ({}): {} must fail and {unrelated:?} must not, broken are {caught:?}; {reported}",
            breaking.name,
            breaking.trace,
            breaking.rule
        );
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
