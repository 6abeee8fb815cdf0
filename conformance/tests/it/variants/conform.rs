//! Every variant conforms, alone and with others.

use std::collections::BTreeMap;

use animal_store_conformance::Judge;
use animal_store_reference::plan::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};
use libtest_mimic::Trial;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{Build, Choice, choices, combined, limits};
use crate::layers::Host;
use crate::trials::{Outcome, Table, block_on};
use crate::{broken, options};

/// How many combinations are tried, half on a Free and half on a Pro key.
pub(crate) const COMBINATIONS: usize = 24;

/// What the combinations are drawn with.
const SEED: u8 = 11;

/// Some lawful choices of a server, on a plan.
struct Variant {
    plan: Plan,
    choices: Vec<Choice>,
}

/// A test for each choice on a Free key, for each choice about limits on a Pro key too, and for combinations of choices.
pub(crate) fn trials() -> Vec<Trial> {
    let alone = |plan: Plan| {
        move |choice: Choice| {
            let name = format!("{plan} {} {}", choice.axis, choice.name);
            (name, Variant { plan, choices: vec![choice] })
        }
    };
    let free = choices().into_iter().map(alone(Plan::Free));
    let pro = limits::CHOICES.iter().copied().map(alone(Plan::Pro));
    let plans = [Plan::Free, Plan::Pro].into_iter().cycle();
    let combined = plans
        .zip(combinations(COMBINATIONS))
        .zip(1..)
        .map(|((plan, choices), number)| (format!("{plan} {number:02} of seed {SEED}"), Variant { plan, choices }));
    let table = |kind, variants: Vec<(String, Variant)>| Table::new(kind, variants, |v| block_on(conforms(v))).trials();
    [table("variant", free.chain(pro).collect()), table("combination", combined.collect())]
        .into_iter()
        .flatten()
        .collect()
}

/// Judges a variant strictly; what is wrong with the verdict, if anything.
async fn accused(plan: Plan, choices: &[Choice]) -> Option<String> {
    let (setting, layers) = Build::new(plan, choices).finish();
    let host = Host::start(setting, layers).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    // Who has a Free key need not say so.
    options.plan = (plan != Plan::Free).then(|| plan.name().parse().expect("a plan"));
    options.strict = true;
    // A slow variant with a ban takes its time, which is none here.
    options.max_duration = std::time::Duration::from_hours(1);
    let report = match Judge::new(options).clock(host.clock.clone()).run().await {
        Ok(report) => report,
        Err(error) => return Some(format!("no verdict: {error}")),
    };
    let missed = report.requirements.iter().filter(|requirement| requirement.status == Status::NotExercised);
    let missed: Vec<_> = missed.map(|requirement| (&requirement.id, &requirement.reason)).collect();
    (report.verdict != Verdict::Conforms).then(|| format!("broken: {:#?}, not exercised: {missed:#?}", broken(&report)))
}

/// The fewest of these choices that are still accused, and of what.
async fn simplest(plan: Plan, choices: &[Choice]) -> Option<(Vec<Choice>, String)> {
    let mut found = (choices.to_vec(), accused(plan, choices).await?);
    while let Some(simpler) = simpler(plan, &found.0).await {
        found = simpler;
    }
    Some(found)
}

/// The same choices without one of them, if they are still accused.
async fn simpler(plan: Plan, choices: &[Choice]) -> Option<(Vec<Choice>, String)> {
    for without in 0..choices.len() {
        let fewer: Vec<Choice> = [&choices[..without], &choices[without + 1..]].concat();
        if let Some(problem) = accused(plan, &fewer).await {
            return Some((fewer, problem));
        }
    }
    None
}

/// The variant is accused of nothing. What is wrong with the verdict is reported for the fewest choices that show it.
async fn conforms(variant: &Variant) -> Outcome {
    match simplest(variant.plan, &variant.choices).await {
        None => Ok(String::new()),
        Some((choices, problem)) => {
            let names: Vec<String> = choices.iter().map(|c| format!("{}: {}", c.axis, c.name)).collect();
            Err(format!("on a {} key, {names:?}: {problem}", variant.plan))
        }
    }
}

/// Combinations of choices, at most one on each axis.
fn combinations(count: usize) -> Vec<Vec<Choice>> {
    let mut axes = BTreeMap::<&str, Vec<Choice>>::new();
    for choice in combined() {
        axes.entry(choice.axis).or_default().push(choice);
    }
    let axes: Vec<_> = axes.into_values().map(|choices| proptest::option::of(prop::sample::select(choices))).collect();
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED; 32]));
    let mut draw = || axes.new_tree(&mut runner).expect("choices").current().into_iter().flatten().collect();
    (0..count).map(|_| draw()).collect()
}
