//! The figures of reports in `fixtures/confidence.json`: counted in the matrix, and written by the test of its snapshot.

use std::collections::BTreeMap;

use crate::support::{read, root};

/// For every requirement, how many saboteurs of the matrix it catches.
fn caught(matrix: &str) -> BTreeMap<String, usize> {
    let mut caught = BTreeMap::new();
    for id in matrix.lines().filter_map(|line| line.strip_prefix("    ")).flat_map(str::split_whitespace) {
        *caught.entry(id.to_owned()).or_default() += 1;
    }
    caught
}

/// Compares the figures with those of the matrix. They are written where reviewed texts are updated, with `INSTA_UPDATE=always`.
pub(crate) fn check(matrix: &str) {
    const PATH: &str = "fixtures/confidence.json";
    let text = serde_json::to_string_pretty(&caught(matrix)).expect("JSON") + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(root().join(PATH), &text).expect("a writable file");
    }
    assert!(read(PATH) == text, "{PATH} is stale: run the test again with INSTA_UPDATE=always");
}
