//! Saboteurs: the reference with one of its faults. The matrix shows which is caught by which requirement; it is committed, and
//! read before it is committed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use animal_store_conformance::Judge;
use animal_store_conformance::recorded::{self, Terms};
use animal_store_conformance::report::Report;
use animal_store_lab::Variation;
use animal_store_lab::choices::{self, Choice, choices};
use animal_store_lab::faults::{Fault, faults};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use libtest_mimic::Trial;

use crate::host::Host;
use crate::support::few_refusals;
use crate::trials::{Outcome, Table, block_on, plain};
use crate::{figures, options};

/// The reference with a fault.
struct Saboteur {
    fault: Fault,
    /// Whether the recordings of the run are judged as well: those of the first saboteur of each requirement.
    is_judged_again: bool,
}

/// A test for each saboteur, for the first saboteur of each requirement about limits with two keys, for those that requests without a key may
/// hide, and for the matrix.
pub(crate) fn trials() -> Vec<Trial> {
    let (mut of_two_keys, mut hidden_by_callers) = (Vec::new(), Vec::new());
    let mut saboteurs = Vec::new();
    let mut requirements = HashSet::new();
    // A fault may have a state, so each run has a fault of its own.
    for ((fault, with_two_keys), beside_callers) in faults().into_iter().zip(faults()).zip(faults()) {
        let is_first = requirements.insert(fault.targets[0]);
        let needs_two_keys = NEED_TWO_KEYS.contains(&fault.name.as_str());
        if needs_two_keys || is_first && is_of_limits(&fault) {
            of_two_keys.push((fault.name.clone(), with_two_keys));
        }
        if ["quota.recovers", "quota.not-exceeded"].contains(&fault.targets[0]) {
            hidden_by_callers.push((fault.name.clone(), beside_callers));
        }
        if !needs_two_keys {
            saboteurs.push((fault.name.clone(), Saboteur { fault, is_judged_again: is_first }));
        }
    }
    let table = Table::new("saboteur", saboteurs, |saboteur| block_on(row(saboteur)));
    let mut trials = table.trials();
    trials.extend(Table::new("two_keys", of_two_keys, |fault| block_on(row_of_two_keys(fault))).trials());
    trials
        .extend(Table::new("beside_callers", hidden_by_callers, |fault| block_on(row_beside_callers(fault))).trials());
    trials.push(table.snapshot_with_figures("matrix", figures::check));
    trials.push(plain!("saboteurs", every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one));
    trials
}

/// The saboteurs that break something between two keys.
const NEED_TWO_KEYS: [&str; 3] = [
    "quota.not-early.one-count-for-all",
    "quota.not-early.one-count-for-a-plan",
    "quota.enforced.spares-the-first-key",
];

/// The saboteurs that only some seeds show, and such a seed. A run may be refused twice only in a row, so the seed chooses one operation of
/// three for the request over the limit, the window that is exhausted first, the request before it, and the pause between two refusals.
const WITH_A_SEED: [(&str, u64); 8] = [
    ("quota.enforced.spares-malformed", 6),
    ("quota.enforced.spares-fetches", 7),
    ("quota.enforced.spares-known-animals", 7),
    ("quota.enforced.spares-orders", 8),
    ("quota.enforced.reads-parameters-first", 4),
    ("quota.not-exceeded.checks-late", 2),
    ("quota.enforced.spares-missing-animals", 4),
    ("quota.not-exceeded.spares-the-first-window", 5),
];

/// Whether a fault breaks a requirement about limits, which a quota key must not hide.
fn is_of_limits(fault: &Fault) -> bool {
    fault.targets[0].starts_with("quota.") || fault.targets[0].starts_with("headers.re")
}

/// With a second key, which the run exhausts as well, a saboteur is caught by the same requirements.
async fn row_of_two_keys(fault: &Fault) -> Outcome {
    let (report, _) = run(fault, true).await?;
    caught_by(fault, &report).map(|_| String::new())
}

/// Where each response to a caller without a key shows an unused minute, a saboteur is caught by the same requirements: such
/// requests are not counted against the key.
async fn row_beside_callers(fault: &Fault) -> Outcome {
    let whole: Vec<Choice> =
        choices().into_iter().filter(|choice| choice.name() == "headers.anonymous.whole").collect();
    let mut variation = fault.variation();
    variation.layers.extend(choices::variation(&whole).layers);
    let (report, _) = run_variation(fault, variation, false).await?;
    caught_by(fault, &report).map(|_| String::new())
}

/// The requirements that a report calls broken: those that the fault targets are among them.
fn caught_by(fault: &Fault, report: &Report) -> Result<Vec<String>, String> {
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    let caught: Vec<String> = failed.map(|requirement| requirement.id.clone()).collect();
    let missed: Vec<_> = fault.targets.iter().filter(|target| !caught.iter().any(|id| id == *target)).collect();
    if missed.is_empty() { Ok(caught) } else { Err(format!("not caught by {missed:?}, only by {caught:?}")) }
}

/// The report and the recording of one full run against a saboteur, without generated requests.
async fn run(fault: &Fault, has_two_keys: bool) -> Result<(Report, String), String> {
    run_variation(fault, fault.variation(), has_two_keys).await
}

async fn run_variation(fault: &Fault, variation: Variation, has_two_keys: bool) -> Result<(Report, String), String> {
    let host = Host::start(fault.plan, variation).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.quota_key = has_two_keys.then(|| ApiKey::new(&host.quota_key).expect("a usable key"));
    options.judging.plan = fault.plan.name().parse().ok();
    // The fixed part of a run must catch every saboteur by itself.
    options.budget.cases = Some(0);
    options.judging.strict = true;
    if let Some((_, seed)) = WITH_A_SEED.iter().find(|(name, _)| *name == fault.name) {
        options.seed = *seed;
    }
    let outcome = Judge::new(options).clock(host.clock.clone()).run_and_record().await;
    let (report, trace) = outcome.map_err(|error| format!("no verdict: {error}"))?;
    few_refusals(&report)?;
    Ok((report, trace))
}

/// The recording of a run gives the verdicts of the run.
fn same_verdicts(report: &Report, trace: &str) -> Result<(), String> {
    let again = judge_again(trace)?;
    let differing = report.requirements.iter().zip(&again.requirements).find(|(run, file)| {
        (&run.id, run.status, run.failures, &run.observed) != (&file.id, file.status, file.failures, &file.observed)
    });
    match differing {
        Some((run, file)) => Err(format!("{} is judged otherwise from its trace: {run:?}, then {file:?}", run.id)),
        None => Ok(()),
    }
}

/// The report on the trace of a run.
fn judge_again(trace: &str) -> Result<Report, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("run.jsonl");
    std::fs::write(&file, trace).map_err(|error| error.to_string())?;
    recorded::judge(&[file], &Terms::default()).map_err(|error| format!("the recording is not judged: {error}"))
}

/// The saboteur's row of the matrix.
async fn row(saboteur: &Saboteur) -> Outcome {
    let fault = &saboteur.fault;
    let (report, trace) = run(fault, false).await?;
    if saboteur.is_judged_again {
        same_verdicts(&report, &trace)?;
    }
    Ok(format!("{} · {}\n    {}\n", fault.name, fault.does, caught_by(fault, &report)?.join(" ")))
}

fn every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one() {
    let (mut targets, mut names) = (BTreeMap::<&str, usize>::new(), BTreeSet::<&str>::new());
    let faults = faults();
    for fault in &faults {
        assert!(names.insert(fault.name.as_str()), "two saboteurs are called {}", fault.name);
        assert!(!fault.targets.is_empty(), "{} names no requirement", fault.name);
        for target in &fault.targets {
            assert!(catalogue().get(target).is_some(), "{} names {target}, which is no requirement", fault.name);
            *targets.entry(target).or_default() += 1;
        }
    }
    for requirement in catalogue().of(Party::Server) {
        let wanted = match requirement.level {
            Level::Stated => 2,
            Level::Inferred => 1,
            Level::Open => 0,
        };
        let found = targets.get(requirement.id.as_str()).copied().unwrap_or(0);
        assert!(found >= wanted, "{} has {found} saboteurs, and needs {wanted}", requirement.id);
    }
}
