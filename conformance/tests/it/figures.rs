//! The figures of "How we know" in the judge's README: generated from the matrix, and compared by the test of its snapshot.

use std::collections::BTreeMap;
use std::fmt::Write;

use animal_store_lab::choices::{Maker, choices};
use animal_store_lab::faults::faults;
use animal_store_rules::catalogue::{Level, Party, catalogue};

use serde_json::json;

use crate::support::{check_table, read, root};
use crate::variants::SEEDS;

/// For every requirement, how many saboteurs of the matrix it catches.
fn caught(matrix: &str) -> BTreeMap<String, usize> {
    let mut caught = BTreeMap::new();
    for id in matrix.lines().filter_map(|line| line.strip_prefix("    ")).flat_map(str::split_whitespace) {
        *caught.entry(id.to_owned()).or_default() += 1;
    }
    caught
}

fn figures(matrix: &str) -> String {
    let (faults, caught) = (faults(), caught(matrix));
    let mut text = format!(
        "| servers | number | outcome |\n|---|---|---|\n\
         | saboteurs of the reference | {} | each is caught by every requirement that it targets |\n\
         | lawful choices, one at a time | {} | none is accused, also strictly |\n\n\
         | requirement | level | saboteurs that target it | saboteurs that it catches |\n|---|---|---|---|\n",
        faults.len(),
        choices().iter().filter(|choice| choice.maker != Maker::Reference).count(),
    );
    for requirement in catalogue().of(Party::Server).filter(|requirement| requirement.level != Level::Open) {
        let id = requirement.id.as_str();
        let level = if requirement.level == Level::Stated { "stated" } else { "inferred" };
        let meant = faults.iter().filter(|fault| fault.targets.contains(&id)).count();
        let found = caught.get(id).copied().unwrap_or(0);
        writeln!(text, "| `{id}` | {level} | {meant} | {found} |").expect("memory");
    }
    text
}

/// What reports say of the judge: with how many faults and lawful servers it was tested, and how many faults each requirement catches.
fn confidence(matrix: &str) -> String {
    let alone = choices().iter().filter(|choice| choice.maker != Maker::Reference).count() as u64;
    let figures = json!({"faults": faults().len(), "lawful_servers": alone + SEEDS, "caught": caught(matrix)});
    serde_json::to_string_pretty(&figures).expect("JSON") + "\n"
}

/// Compares a file of the repository with a text. It is written where reviewed texts are updated, with `INSTA_UPDATE=always`.
fn check_file(path: &str, text: &str) {
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(root().join(path), text).expect("a writable file");
    }
    assert!(read(path) == text, "{path} is stale: run the test again with INSTA_UPDATE=always");
}

/// Compares the figures of the judge's README and of reports with those of the matrix.
pub(crate) fn check(matrix: &str) {
    check_table("conformance/README.md", &figures(matrix));
    check_file("fixtures/confidence.json", &confidence(matrix));
}
