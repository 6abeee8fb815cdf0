//! The JSON Schema of the report, made from its types and kept in `fixtures/report.schema.json`.
//!
//! It is made where tests are compiled and nowhere else: whoever builds the judge does not pay for it.

use std::path::Path;

use schemars::generate::SchemaSettings;

use crate::report::Report;

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
