//! The JSON Schema of the report, made from its types and kept in `fixtures/report.schema.json`.
//!
//! It is made where tests are compiled and nowhere else: whoever builds the judge does not pay for it.

use std::path::Path;

use schemars::generate::SchemaSettings;

use crate::report::Report;

// The enumerations of the rules, described here because their crate knows nothing of schemas. The report of every test that
// validates one holds them to the originals.

/// The verdict on a run.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "described, never made")]
pub(crate) enum Verdict {
    /// Every selected stated requirement was exercised and held.
    Conforms,
    /// A selected requirement that counts was broken.
    Violates,
    /// Nothing was broken, but a selected stated requirement was not exercised.
    Incomplete,
}

/// How much of the catalogue a run covers, and what it does to the target.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "described, never made")]
pub(crate) enum Profile {
    /// Everything: creates animals, and exhausts a key once.
    Full,
    /// Everything but exhausting a key.
    Functional,
    /// Neither creates animals nor exhausts a key.
    ReadOnly,
}

/// What the specification says about a requirement, and so what breaking it means.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "described, never made")]
pub(crate) enum Level {
    /// The specification says it: breaking it is a violation.
    Stated,
    /// It follows from a stated sentence together with HTTP: a warning, and a violation under `--strict`.
    Inferred,
    /// The specification leaves it free: the candidate's choice is recorded and cannot fail.
    Open,
}

/// The status of one requirement.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "described, never made")]
pub(crate) enum Status {
    /// It was judged and held each time.
    Pass,
    /// It was broken at least once.
    Fail,
    /// It was broken, as it is known to be: no violation.
    KnownFailing,
    /// It is listed as known to fail, and that is no longer so: it holds, or its last day is over.
    StaleKnownFailing,
    /// Nothing in the trace allows a judgement.
    NotExercised,
    /// It is open: what the candidate chose is recorded.
    Observed,
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
        "fixtures/report.schema.json is stale; refresh it with: \
         UPDATE_SCHEMA=1 cargo test -p animal-store-conformance --lib schema"
    );
}
