//! Generic edits: every status, header field and body member of every answer is dropped, doubled, retyped and put off by one. What
//! survives is lawful by the specification, for a reason that stands in `survivors`, or shows that a rule is missing.

mod answers;
mod survivors;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use animal_store_rules::facts::Facts;
use animal_store_rules::history::{Entry, History};
use animal_store_rules::request::{CreateBody, Operation};
use animal_store_rules::rules::{Rule, rules};
use animal_store_rules::trace::Trace;

use super::{TRACES, recording};
use answers::Edit;
use survivors::{RARE, REASONS, Reason, Survivor};

/// The traces that are edited in every run of the tests: of two servers that share no code, one of them also with headers that
/// report the day.
const EDITED: [&str; 3] = ["free", "odd", "day"];

/// What became of the edits of one trace.
#[derive(Default)]
struct Tally {
    caught: usize,
    /// By the reason.
    lawful: BTreeMap<&'static str, usize>,
    /// What no reason explains.
    unexplained: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.caught += other.caught;
        other.lawful.into_iter().for_each(|(why, count)| *self.lawful.entry(why).or_default() += count);
        other.unexplained.into_iter().for_each(|(what, count)| *self.unexplained.entry(what).or_default() += count);
    }
}

/// Tries the rules on edited answers, the likeliest first.
struct Judge {
    rules: Vec<Rule>,
}

impl Judge {
    /// Whether any rule fails. One that does is tried first the next time: the next edit is much like this one.
    fn catches(&mut self, history: &History<'_>) -> bool {
        let facts = Facts::new(history);
        let caught_by = self.rules.iter().position(|rule| !rule.judge(&facts).failures.is_empty());
        if let Some(at) = caught_by {
            let rule = self.rules.remove(at);
            self.rules.insert(0, rule);
        }
        caught_by.is_some()
    }
}

/// Makes every edit of the answers at these places.
fn tally(trace: &Trace, places: &[usize]) -> Tally {
    let (mut tally, mut judge) = (Tally::default(), Judge { rules: rules() });
    let own_names = own_names(trace);
    for &at in places {
        let edits: Vec<Edit> = answers::edits(&trace.exchanges[at]);
        let mut history = History::new(trace);
        for edit in &edits {
            let edited = history.entries[at].with_outcome_of(&edit.exchange);
            let recorded: Entry<'_> = std::mem::replace(&mut history.entries[at], edited);
            history = History::of(history.context, history.entries);
            if judge.catches(&history) {
                tally.caught += 1;
            } else {
                let survivor = Survivor { edit, recorded: &recorded, own_names: &own_names };
                match REASONS.iter().chain(RARE).find(|reason| (reason.explains)(&survivor)) {
                    Some(reason) => *tally.lawful.entry(reason.why).or_default() += 1,
                    None => *tally.unexplained.entry(survivor.to_string()).or_default() += 1,
                }
            }
            history.entries[at] = recorded;
        }
    }
    tally
}

/// The names that this run sent in a NewPet, and that have its mark.
fn own_names(trace: &Trace) -> HashSet<String> {
    let mark = trace.context.name_mark.as_deref().expect("a mark");
    let history = History::new(trace);
    let names = history.creates().filter_map(|(_, body)| body.draft()?.name.clone());
    names.filter(|name| name.contains(mark)).collect()
}

/// The same, by as many threads as there are processors.
fn tally_in_parallel(trace: &Trace, places: &[usize]) -> Tally {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut shares: Vec<Vec<usize>> = vec![Vec::new(); threads];
    places.iter().enumerate().for_each(|(number, at)| shares[number % threads].push(*at));
    std::thread::scope(|scope| {
        let parts: Vec<_> = shares.iter().map(|share| scope.spawn(move || tally(trace, share))).collect();
        let mut sum = Tally::default();
        parts.into_iter().for_each(|part| sum.add(part.join().expect("no panic in a thread")));
        sum
    })
}

/// The last exchange of each kind: of one operation, valid, at fault or ambiguous in one way, with one sort of credential, answered with
/// one status.
fn one_of_each_kind(trace: &Trace) -> Vec<usize> {
    let mut last = BTreeMap::new();
    for (at, entry) in History::new(trace).entries.iter().enumerate() {
        let ambiguities = match &entry.operation {
            Operation::Create(CreateBody::NewPet(_, ambiguities)) => format!("{ambiguities:?}"),
            Operation::Create(CreateBody::Faulty(..)) => "faulty".to_owned(),
            Operation::Create(other) => format!("{other:?}"),
            _ => String::new(),
        };
        let kind = format!(
            "{} {} {:?} {:?} {ambiguities}",
            entry.operation.name(),
            entry.operation.is_certainly_valid(),
            entry.credential,
            entry.status()
        );
        last.insert(kind, at);
    }
    last.into_values().collect()
}

/// What became of the edits, reported trace by trace, and altogether. Panics when something is left unexplained.
fn reported(names: &[&str], places: fn(&Trace) -> Vec<usize>) -> (String, Tally) {
    let (mut text, mut all) = (String::new(), Tally::default());
    for name in names {
        let trace = recording::load(name);
        let tally = tally_in_parallel(&trace, &places(&trace));
        let lawful: usize = tally.lawful.values().sum();
        let unexplained: usize = tally.unexplained.values().sum();
        writeln!(text, "{name}: {} caught, {lawful} lawful, {unexplained} unexplained", tally.caught)
            .expect("a string");
        all.add(tally);
    }
    let unexplained: Vec<String> = all.unexplained.iter().map(|(what, count)| format!("{count:5} {what}")).collect();
    assert!(
        unexplained.is_empty(),
        "{text}{}\neach needs a rule or a reason in generic/survivors.rs",
        unexplained.join("\n")
    );
    (text, all)
}

/// Requires that each reason still explains something.
fn none_is_stale(reasons: &[Reason], all: &Tally) {
    let stale: Vec<&str> =
        reasons.iter().map(|reason| reason.why).filter(|why| !all.lawful.contains_key(why)).collect();
    assert!(stale.is_empty(), "no edit survives any more because\n{}", stale.join("\n"));
}

#[test]
fn what_survives_of_generic_edits_is_lawful() {
    let (mut text, all) = reported(&EDITED, one_of_each_kind);
    none_is_stale(REASONS, &all);
    for reason in REASONS {
        let count = all.lawful[reason.why];
        write!(text, "\n{count:5}  {}", reason.why).expect("a string");
    }
    insta::with_settings!({ snapshot_path => "../../../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("generic-edits", text);
    });
}

#[test]
#[ignore = "takes minutes: a hundred thousand judgements"]
fn what_survives_of_all_generic_edits_is_lawful() {
    let (text, all) = reported(&TRACES, |trace| (0..trace.exchanges.len()).collect());
    none_is_stale(RARE, &all);
    eprintln!("{text}");
}
