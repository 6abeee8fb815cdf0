//! The judge against whole servers, over HTTP on loopback.

mod architecture;
mod candidate;
mod command_line;
mod faults;
mod lawful;
mod reference;
mod rendering;
mod sensitivity;

use std::time::Duration;

use animal_store_conformance::options::{Options, Profile, Scope};
use animal_store_conformance::report::Report;
use animal_store_conformance::wire::client::Transport;
use animal_store_conformance::wire::secret::ApiKey;
use animal_store_conformance::{Judge, RunError};

/// The options that the tests share. The seed is fixed, so that a red test is red again.
fn options(base_url: &str, profile: Profile) -> Options {
    Options {
        transport: Transport {
            base_url: base_url.to_owned(),
            timeout: Duration::from_secs(10),
            ca_certificates: Vec::new(),
            proxy: None,
            headers: Vec::new(),
        },
        api_key: ApiKey::new(candidate::KEY).expect("a usable key"),
        quota_key: None,
        plan: None,
        scope: Scope { profile, ..Scope::default() },
        strict: false,
        seed: 7,
        max_requests: 1_500,
        max_duration: Duration::from_secs(60),
        category_id: 1,
    }
}

async fn judge(options: Options) -> Result<Report, RunError> {
    Judge::new(options).run().await
}

/// The requirements that a report calls broken.
fn broken(report: &Report) -> Vec<String> {
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    failed.map(|r| format!("{}: {}", r.id, r.evidence.first().map_or("", |e| e.sentence.as_str()))).collect()
}
