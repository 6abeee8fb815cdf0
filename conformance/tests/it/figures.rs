//! The figures of reports in `fixtures/confidence.json`: counted in the matrix, and written by the test of its snapshot.

use std::collections::BTreeMap;

use animal_store_lab::choices::{Maker, choices};
use animal_store_lab::faults::faults;
use serde_json::json;

use crate::support::{read, root};
use crate::variants::SEEDS;

/// For every requirement, how many saboteurs of the matrix it catches.
fn caught(matrix: &str) -> BTreeMap<String, usize> {
    let mut caught = BTreeMap::new();
    for id in matrix.lines().filter_map(|line| line.strip_prefix("    ")).flat_map(str::split_whitespace) {
        *caught.entry(id.to_owned()).or_default() += 1;
    }
    caught
}

/// What reports say of the judge: with how many faults and lawful servers it was tested, and how many faults each requirement catches.
fn confidence(matrix: &str) -> String {
    let alone = choices().iter().filter(|choice| choice.maker != Maker::Reference).count() as u64;
    let figures = json!({"faults": faults().len(), "lawful_servers": alone + SEEDS, "caught": caught(matrix)});
    serde_json::to_string_pretty(&figures).expect("JSON") + "\n"
}

/// Compares the figures with those of the matrix. They are written where reviewed texts are updated, with `INSTA_UPDATE=always`.
pub(crate) fn check(matrix: &str) {
    const PATH: &str = "fixtures/confidence.json";
    let text = confidence(matrix);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(root().join(PATH), &text).expect("a writable file");
    }
    assert!(read(PATH) == text, "{PATH} is stale: run the test again with INSTA_UPDATE=always");
}
