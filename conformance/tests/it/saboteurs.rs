//! Saboteurs: the reference with one of its faults. The matrix shows which is caught by which requirement; it is committed, and
//! read before it is committed.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_conformance::Judge;
use animal_store_conformance::recorded::{self, Terms};
use animal_store_conformance::report::Report;
use animal_store_lab::faults::{Fault, faults};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use libtest_mimic::Trial;

use crate::host::Host;
use crate::support::few_refusals;
use crate::trials::{Outcome, Table, block_on, plain};
use crate::{figures, options};

/// A test for each saboteur, and those of the matrix.
pub(crate) fn trials() -> Vec<Trial> {
    let named = |faults: Vec<Fault>| faults.into_iter().map(|fault| (fault.name.clone(), fault));
    let (with_two_keys, others) = faults().into_iter().partition(|fault| NEED_TWO_KEYS.contains(&fault.name.as_str()));
    let table = Table::new("saboteur", named(others), |fault| block_on(row(fault)));
    let mut trials = table.trials();
    let of_limits: Vec<Fault> = faults().into_iter().filter(is_of_limits).chain(with_two_keys).collect();
    trials.extend(Table::new("two_keys", named(of_limits), |fault| block_on(row_of_two_keys(fault))).trials());
    trials.push(table.snapshot_with_figures("matrix", figures::check));
    trials.push(plain!("saboteurs", every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one));
    trials
}

/// The saboteurs that break something between two keys.
const NEED_TWO_KEYS: [&str; 2] = ["quota.not-early.one-count-for-all", "quota.enforced.spares-the-first-key"];

/// The saboteurs that break one operation over the limit which a run tries with one seed in three, and such a seed. A run may be refused
/// twice only, and each of these servers counts the operation, so that nothing else shows it.
const WITH_A_SEED: [(&str, u64); 4] = [
    ("quota.enforced.spares-malformed", 6),
    ("quota.enforced.spares-fetches", 7),
    ("quota.enforced.spares-known-animals", 7),
    ("quota.enforced.spares-orders", 8),
];

/// Whether it breaks something about limits, which a quota key must not hide.
fn is_of_limits(fault: &Fault) -> bool {
    let is_of_limits = |target: &&str| target.starts_with("quota.") || target.starts_with("headers.re");
    !NEED_TWO_KEYS.contains(&fault.name.as_str()) && fault.targets.iter().any(is_of_limits)
}

/// With a second key, which the run exhausts as well, a saboteur is caught by the same requirements.
async fn row_of_two_keys(fault: &Fault) -> Outcome {
    let caught = caught_by(fault, true).await?;
    let missed: Vec<_> = fault.targets.iter().filter(|target| !caught.iter().any(|id| id == *target)).collect();
    if missed.is_empty() { Ok(String::new()) } else { Err(format!("not caught by {missed:?}, only by {caught:?}")) }
}

/// The requirements that a saboteur is seen to break in one full run, without generated requests.
async fn caught_by(fault: &Fault, has_two_keys: bool) -> Result<Vec<String>, String> {
    let host = Host::start(fault.plan, fault.variation.clone()).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.quota_key = has_two_keys.then(|| ApiKey::new(&host.quota_key).expect("a usable key"));
    options.plan = fault.plan.name().parse().ok();
    // The fixed part of a run must catch every saboteur by itself.
    options.cases = Some(0);
    options.strict = true;
    if let Some((_, seed)) = WITH_A_SEED.iter().find(|(name, _)| *name == fault.name) {
        options.seed = *seed;
    }
    let outcome = Judge::new(options).clock(host.clock.clone()).run_and_record().await;
    let (report, trace) = outcome.map_err(|error| format!("no verdict: {error}"))?;
    few_refusals(&report)?;
    let again = judge_again(&trace)?;
    let differing = report.requirements.iter().zip(&again.requirements).find(|(run, file)| {
        (&run.id, run.status, run.failures, &run.observed) != (&file.id, file.status, file.failures, &file.observed)
    });
    if let Some((run, file)) = differing {
        return Err(format!("{} is judged otherwise from its trace: {run:?}, then {file:?}", run.id));
    }
    Ok(broken_in(&report))
}

/// The report on the trace of a run.
fn judge_again(trace: &str) -> Result<Report, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("run.jsonl");
    std::fs::write(&file, trace).map_err(|error| error.to_string())?;
    recorded::judge(&[file], &Terms::default()).map_err(|error| format!("the recording is not judged: {error}"))
}

fn broken_in(report: &Report) -> Vec<String> {
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    failed.map(|requirement| requirement.id.clone()).collect()
}

/// The saboteur's row of the matrix. It must be caught by every requirement that it names.
async fn row(fault: &Fault) -> Outcome {
    let caught = caught_by(fault, false).await?;
    let missed: Vec<_> = fault.targets.iter().filter(|target| !caught.iter().any(|id| id == *target)).collect();
    if !missed.is_empty() {
        return Err(format!("not caught by {missed:?}, only by {caught:?}"));
    }
    Ok(format!("{} · {}\n    {}\n", fault.name, fault.like, caught.join(" ")))
}

fn every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one() {
    let (mut targets, mut names) = (BTreeMap::<&str, usize>::new(), BTreeSet::<&str>::new());
    let faults = faults();
    for fault in &faults {
        assert!(names.insert(fault.name.as_str()), "two saboteurs are called {}", fault.name);
        assert!(!fault.targets.is_empty(), "{} names no requirement", fault.name);
        for target in fault.targets {
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
