//! Every variant conforms, alone and with others.

use std::collections::BTreeMap;
use std::sync::Arc;

use animal_store_conformance::Judge;
use animal_store_reference::plan::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Build, Choice, choices};
use crate::layers::Host;
use crate::{broken, options};

/// As many servers are judged at once as keep a small machine busy.
const AT_ONCE: usize = 4;

/// How many combinations are tried, half on a Free and half on a Pro key.
pub(crate) const COMBINATIONS: usize = 24;

/// What the combinations are drawn with.
const SEED: u8 = 11;

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
    options.max_duration = std::time::Duration::from_secs(3_600);
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

async fn all_conform(variants: Vec<(Plan, Vec<Choice>)>) {
    let (places, mut runs) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for (plan, choices) in variants {
        let places = Arc::clone(&places);
        runs.spawn(async move {
            let _place = places.acquire().await.expect("the semaphore is never closed");
            let (choices, problem) = simplest(plan, &choices).await?;
            let names: Vec<String> = choices.iter().map(|c| format!("{}: {}", c.axis, c.name)).collect();
            Some(format!("on a {plan} key, {names:?}: {problem}"))
        });
    }
    let problems: Vec<String> = runs.join_all().await.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_lawful_choice_conforms_on_a_free_key() {
    all_conform(choices().into_iter().map(|choice| (Plan::Free, vec![choice])).collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_lawful_choice_about_limits_conforms_on_a_pro_key() {
    all_conform(super::limits::CHOICES.iter().map(|choice| (Plan::Pro, vec![*choice])).collect()).await;
}

/// Combinations of choices, at most one on each axis.
fn combinations(count: usize) -> Vec<Vec<Choice>> {
    let mut axes = BTreeMap::<&str, Vec<Choice>>::new();
    for choice in choices() {
        axes.entry(choice.axis).or_default().push(choice);
    }
    let axes: Vec<_> = axes.into_values().map(|choices| proptest::option::of(prop::sample::select(choices))).collect();
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED; 32]));
    let mut draw = || axes.new_tree(&mut runner).expect("choices").current().into_iter().flatten().collect();
    (0..count).map(|_| draw()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn combinations_of_lawful_choices_conform() {
    println!("combinations drawn with the seed {SEED}");
    let plans = [Plan::Free, Plan::Pro].into_iter().cycle();
    all_conform(plans.zip(combinations(COMBINATIONS)).collect()).await;
}
