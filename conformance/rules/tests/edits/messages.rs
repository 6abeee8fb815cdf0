//! What is reported of a trace, as reviewed snapshots: how often each rule applied, the sentences of those that failed, what observers
//! recorded, and how the tour differs from that of every lawful server. A rule that applies to less than it did, or an observer
//! that records something else, shows as a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use animal_store_rules::facts::Facts;
use animal_store_rules::history::History;
use animal_store_rules::observers::OBSERVERS;
use animal_store_rules::rules::rules;
use animal_store_rules::trace::Trace;
use animal_store_rules::transcript::Transcript;
use fastrand::Rng;

use super::breaking::breaking_edits;
use super::lawful::lawful_edits;
use super::tools::{answer, refuse};
use super::{TRACES, recording};

/// The traces to which every lawful edit is made: of two servers that share no code.
const EDITED: [&str; 2] = ["free", "odd"];

/// Compares with a snapshot.
fn reviewed(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// The steps of the tour, each with what it got.
fn tour(trace: &Trace) -> BTreeSet<String> {
    Transcript::new(&History::new(trace))
        .text()
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn rules_apply_to_recorded_traces_as_often_as_was_reviewed() {
    let traces = TRACES.map(recording::load);
    let histories = traces.each_ref().map(History::new);
    let facts = histories.each_ref().map(Facts::new);
    let mut text = format!("{}\n", TRACES.map(|name| format!("{name:>8}")).concat());
    for rule in rules() {
        let times = facts.each_ref().map(|facts| format!("{:>8}", rule.judge(facts).judged)).concat();
        writeln!(text, "{times}  {}", rule.id).expect("a string");
    }
    reviewed("edits-applied", &text);
}

#[test]
fn what_is_said_of_breaking_edits_was_reviewed() {
    let mut text = String::new();
    let tours: BTreeMap<_, _> = TRACES.map(|name| (name, tour(&recording::load(name)))).into();
    for edit in breaking_edits() {
        let mut trace = recording::load(edit.trace);
        (edit.apply)(&mut trace);
        let history = History::new(&trace);
        let facts = Facts::new(&history);
        writeln!(text, "{} ({})", edit.name, edit.trace).expect("a string");
        for rule in rules() {
            let failures = rule.judge(&facts).failures;
            let Some(first) = failures.first() else { continue };
            let (times, exchanges) = (failures.len(), &first.exchanges);
            writeln!(text, "  {}, {times} of them, the first in {exchanges:?}", rule.id).expect("a string");
            writeln!(text, "    expected {}\n    found {}", first.expected, first.found).expect("a string");
        }
        let recorded = &tours[edit.trace];
        for line in tour(&trace).difference(recorded) {
            writeln!(text, "    {line}").expect("a string");
        }
    }
    reviewed("edits-messages", &text);
}

#[test]
fn the_first_steps_that_differ_from_the_transcript_were_reviewed() {
    let mut trace = recording::load("odd");
    // The recorded run listed the animals of each status one after the other at first.
    trace.exchanges.retain(|exchange| !exchange.step.is_empty() && !exchange.step.ends_with(", at first"));
    trace.exchanges.truncate(4);
    assert_eq!(Transcript::new(&History::new(&trace)).difference(), None);
    trace.exchanges.iter_mut().for_each(|exchange| refuse(answer(exchange), 418));
    reviewed("edits-transcript", &Transcript::new(&History::new(&trace)).difference().expect("a difference"));
}

#[test]
fn lawful_edits_leave_the_transcript_of_the_tour_as_it_is() {
    for name in EDITED {
        let recorded = tour(&recording::load(name));
        // The steps of the tour come one after the other; edits that make them overlap are left out.
        for edit in lawful_edits().filter(|edit| edit.hides.is_none()) {
            let mut trace = recording::load(name);
            (edit.apply)(&mut trace, &mut Rng::with_seed(1));
            let reported = tour(&trace);
            let reported: Vec<_> = reported.difference(&recorded).collect();
            assert!(reported.is_empty(), "{name}, {:?}: {reported:#?}", edit.name);
        }
    }
}

/// What every observer records.
fn observed(trace: &Trace) -> BTreeMap<&'static str, String> {
    let history = History::new(trace);
    let facts = Facts::new(&history);
    OBSERVERS.iter().filter_map(|observer| Some((observer.id, (observer.observe)(&facts)?))).collect()
}

#[test]
fn observers_record_what_was_reviewed() {
    let mut text = String::new();
    for name in TRACES {
        let recorded = observed(&recording::load(name));
        writeln!(text, "{name}").expect("a string");
        for (id, choice) in &recorded {
            writeln!(text, "  {id}: {choice}").expect("a string");
        }
        for edit in lawful_edits().filter(|_| EDITED.contains(&name)) {
            let mut trace = recording::load(name);
            (edit.apply)(&mut trace, &mut Rng::with_seed(1));
            let mut edited = observed(&trace);
            edited.retain(|id, choice| recorded.get(id) != Some(choice));
            for (id, choice) in edited {
                writeln!(text, "  {} → {id}: {choice}", edit.name).expect("a string");
            }
        }
    }
    reviewed("edits-observed", &text);
}
