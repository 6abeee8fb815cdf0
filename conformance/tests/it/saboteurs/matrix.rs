//! The matrix: which saboteur is caught by which requirement. It is committed, and read before it is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use animal_store_conformance::Judge;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Saboteur, saboteurs};
use crate::layers::Host;
use crate::options;
use crate::rendering::check;

/// As many servers are judged at once as keep a small machine busy.
const AT_ONCE: usize = 4;

/// The requirements that a saboteur is seen to break in one full run, as on a Free key, without generated requests.
async fn caught_by(saboteur: &Saboteur) -> Vec<String> {
    let host = Host::start(saboteur.setting.clone(), saboteur.layers.clone()).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.plan = "free".parse().ok();
    // The fixed part of a run must catch every saboteur by itself.
    options.cases = Some(0);
    options.strict = true;
    let report = Judge::new(options).clock(host.clock.clone()).run().await;
    let report = report.unwrap_or_else(|error| panic!("{}: no verdict: {error}", saboteur.name));
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    failed.map(|requirement| requirement.id.clone()).collect()
}

/// Every saboteur with the requirements that catch it, in the order of the tables.
async fn matrix() -> Vec<(Arc<Saboteur>, Vec<String>)> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut runs = JoinSet::new();
    for (number, saboteur) in saboteurs().into_iter().enumerate() {
        let (places, saboteur) = (Arc::clone(&places), Arc::new(saboteur));
        runs.spawn(async move {
            let _place = places.acquire().await.expect("the semaphore is never closed");
            let caught = caught_by(&saboteur).await;
            (number, saboteur, caught)
        });
    }
    let mut rows = runs.join_all().await;
    rows.sort_by_key(|(number, ..)| *number);
    rows.into_iter().map(|(_, saboteur, caught)| (saboteur, caught)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_saboteur_is_caught_by_the_requirements_that_it_names() {
    let matrix = matrix().await;
    let mut text = String::new();
    let mut problems = Vec::new();
    for (saboteur, caught) in &matrix {
        writeln!(text, "{} · {}\n    {}", saboteur.name, saboteur.like, caught.join(" ")).expect("memory");
        for target in saboteur.targets.iter().filter(|target| !caught.iter().any(|id| id == *target)) {
            problems.push(format!("{} is not caught by {target}, only by {caught:?}", saboteur.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    check("matrix", &text);
}

#[test]
fn every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one() {
    let (mut targets, mut names) = (BTreeMap::<&str, usize>::new(), BTreeSet::new());
    let saboteurs = saboteurs();
    for saboteur in &saboteurs {
        assert!(names.insert(saboteur.name), "two saboteurs are called {}", saboteur.name);
        assert!(!saboteur.targets.is_empty(), "{} names no requirement", saboteur.name);
        for target in saboteur.targets {
            assert!(catalogue().get(target).is_some(), "{} names {target}, which is no requirement", saboteur.name);
            *targets.entry(target).or_default() += 1;
        }
    }
    for requirement in &catalogue().requirements {
        let wanted = match requirement.level {
            Level::Stated => 2,
            Level::Inferred => 1,
            Level::Open => 0,
        };
        let found = targets.get(requirement.id.as_str()).copied().unwrap_or(0);
        assert!(found >= wanted, "{} has {found} saboteurs, and needs {wanted}", requirement.id);
    }
}
