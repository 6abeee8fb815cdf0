//! The judge against whole servers, over HTTP on loopback.

mod action;
mod architecture;
mod authorities;
mod browser;
mod candidate;
mod command_line;
mod configuration;
mod curl;
mod diff;
mod faults;
mod formats;
mod generated;
mod hostile;
mod html;
mod image;
mod known_failing;
mod lawful;
mod layers;
mod mistakes;
mod preflight;
mod progress;
mod record;
mod reference;
mod rendering;
mod report_files;
mod rules_command;
mod saboteurs;
mod sample;
mod sensitivity;
mod variants;

use std::time::Duration;

use animal_store_conformance::Options;
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, RunError};
use animal_store_rules::catalogue::scope::Profile;

/// The options that the tests share. The seed is fixed, so that a red test is red again.
fn options(base_url: &str, profile: Profile) -> Options {
    let mut options = Options::new(base_url, candidate::KEY).expect("an address and a key");
    options.scope.profile = profile;
    options.seed = 7;
    options.max_duration = Duration::from_secs(180);
    options
}

async fn judge(options: Options) -> Result<Report, RunError> {
    Judge::new(options).run().await
}

/// The requirements that a report calls broken.
fn broken(report: &Report) -> Vec<String> {
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    failed.map(|r| format!("{}: {}", r.id, r.evidence.first().map_or("", |e| e.sentence.as_str()))).collect()
}
