//! The matrix: which saboteur is caught by which requirement. It is committed, and read before it is committed.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_conformance::Judge;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use libtest_mimic::Trial;

use super::{Saboteur, figures, saboteurs};
use crate::layers::Host;
use crate::options;
use crate::trials::{Outcome, Table, block_on, plain};

/// A test for each saboteur, and those of the matrix.
pub(crate) fn trials() -> Vec<Trial> {
    let named = saboteurs().into_iter().map(|saboteur| (saboteur.name.to_owned(), saboteur));
    let table = Table::new("saboteur", named, |saboteur| block_on(row(saboteur)));
    let mut trials = table.trials();
    trials.push(table.snapshot("matrix"));
    trials.push(plain!("saboteurs", every_stated_requirement_has_two_saboteurs_and_every_inferred_one_has_one));
    trials.push(plain!("saboteurs", figures::the_figures_of_the_readme_are_those_of_the_matrix));
    trials
}

/// The requirements that a saboteur is seen to break in one full run, as on a Free key, without generated requests.
async fn caught_by(saboteur: &Saboteur) -> Result<Vec<String>, String> {
    let host = Host::start(saboteur.setting.clone(), saboteur.layers.clone()).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.plan = "free".parse().ok();
    // The fixed part of a run must catch every saboteur by itself.
    options.cases = Some(0);
    options.strict = true;
    let report = Judge::new(options).clock(host.clock.clone()).run().await;
    let report = report.map_err(|error| format!("no verdict: {error}"))?;
    let failed = report.requirements.into_iter().filter(|requirement| requirement.failures > 0);
    Ok(failed.map(|requirement| requirement.id).collect())
}

/// The saboteur's row of the matrix. It must be caught by every requirement that it names.
async fn row(saboteur: &Saboteur) -> Outcome {
    let caught = caught_by(saboteur).await?;
    let missed: Vec<_> = saboteur.targets.iter().filter(|target| !caught.iter().any(|id| id == *target)).collect();
    if !missed.is_empty() {
        return Err(format!("not caught by {missed:?}, only by {caught:?}"));
    }
    Ok(format!("{} · {}\n    {}\n", saboteur.name, saboteur.like, caught.join(" ")))
}

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
