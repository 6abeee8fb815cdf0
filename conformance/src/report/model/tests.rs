//! `fixtures/report.schema.json` describes reports. A test generates the schema, so that building the judge needs no schema crate.

use std::path::Path;

use schemars::generate::SchemaSettings;

use super::{Implementation, Report};

// Types of the rules and of the diagnosis, repeated here because their crates do not depend on schemars. Tests that validate reports
// against the schema show when they differ.

/// The program that wrote a report.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) struct Tool {
    /// The name of the program.
    name: String,
    /// The version of the program.
    version: String,
}

/// The verdict on a run.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Verdict {
    /// Every selected stated requirement was exercised and held.
    Conforms,
    /// A selected requirement that counts was broken.
    Violates,
    /// No requirement was broken, but a selected stated requirement was not exercised.
    Incomplete,
}

/// The part of the catalogue that a run covers, and its effects on the target.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Profile {
    /// Everything: creates animals, and exhausts the limit twice with one key, or once with each of two.
    Full,
    /// Everything but exhausting a key.
    Functional,
    /// Neither creates animals nor exhausts a key.
    ReadOnly,
}

/// The parties of the traffic that are judged.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Side {
    /// The server. In a run the judge itself is the client.
    Server,
    /// The clients, in recorded traffic.
    Client,
    /// Both parties, in recorded traffic.
    Both,
}

/// The level of a requirement, which determines the consequence of breaking it.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Level {
    /// The specification states the requirement: breaking it is a violation.
    Stated,
    /// The requirement follows from the specification together with HTTP: breaking it is a warning, with `--strict` a violation.
    Inferred,
    /// The specification leaves a choice: the candidate's choice is recorded and cannot fail.
    Open,
}

/// The status of one requirement.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Status {
    /// The requirement was judged and held each time.
    Pass,
    /// The requirement was broken at least once.
    Fail,
    /// The requirement was broken and is known to fail: no violation.
    KnownFailing,
    /// The requirement was broken, and its known failure has expired.
    StaleKnownFailing,
    /// No exchange allows a judgement.
    NotExercised,
    /// The requirement is open: the candidate's choice is recorded.
    Observed,
}

/// A likely common cause of several failures, which the exchanges support.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) struct LikelyCause {
    /// The name of the cause, for programs.
    id: String,
    /// The cause in a line; a question where it is a guess.
    sentence: String,
    /// The requirements whose failures the cause explains completely.
    requirements: Vec<String>,
    /// The numbers of the exchanges that show the cause.
    exchanges: Vec<usize>,
}

/// The share of equal requests that show a failure.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) struct Intermittent {
    /// The number of requests that show the failure.
    broken: usize,
    /// The number of all these requests.
    alike: usize,
}

/// The addresses of the service that show a finding.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case", tag = "scope")]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) enum Attribution {
    /// Some addresses alone show the finding.
    Only {
        /// The addresses that show the finding.
        replicas: Vec<String>,
        /// The number of requests to these addresses that show the finding.
        broken: usize,
        /// The number of all such requests to these addresses.
        requests: usize,
        /// The number of such requests to other addresses that do not show the finding.
        others: usize,
        /// The attribution as the end of a sentence.
        sentence: String,
    },
    /// No address alone shows the finding: it is a difference between responses of several.
    Across {
        /// The addresses at one end of each difference, unless they are all addresses.
        replicas: Vec<String>,
        /// The attribution as the end of a sentence.
        sentence: String,
    },
}

/// The reads at one address of animals that were created at other addresses.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "described, never constructed")]
pub(super) struct ReadsElsewhere {
    /// The number of these animals that the address has shown.
    shown: usize,
    /// The number of these animals that were requested from the address, and that it has never shown.
    never_shown: usize,
    /// The longest time after a creation at which a read did not show the animal, in milliseconds.
    missing_ms: Option<u64>,
    /// The time from a creation to the first read that showed the animal, in milliseconds: the longest time among animals that were
    /// missing before, else the shortest time.
    shown_ms: Option<u64>,
}

#[test]
fn the_committed_schema_is_that_of_the_report() {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Report>();
    let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/report.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == schema,
        "fixtures/report.schema.json is out of date; update it with: \
         UPDATE_SCHEMA=1 cargo test -p animal-store-conformance --lib"
    );
}

#[test]
fn what_was_given_holds_and_what_was_learnt_completes_it() {
    let given = Implementation { name: Some("Pets".to_owned()), ..Implementation::default() };
    let version = Some("1.2".to_owned());
    let learnt = Implementation { name: Some("pets".to_owned()), version, ..Implementation::default() };
    assert_eq!(given.or(learnt).title().as_deref(), Some("Pets 1.2"));
    assert_eq!(Implementation::default().title(), None);
}
