//! The figures of "How we know" in the judge's README: generated from the committed matrix, and compared by a test.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use animal_store_reference::lab::choices::{Maker, choices};
use animal_store_reference::lab::faults::faults;
use animal_store_rules::catalogue::{Level, Party, catalogue};

/// For every requirement, how many saboteurs of the committed matrix it catches.
fn caught() -> BTreeMap<String, usize> {
    let matrix = read("snapshots/matrix.snap");
    let mut caught = BTreeMap::new();
    for id in matrix.lines().filter_map(|line| line.strip_prefix("    ")).flat_map(str::split_whitespace) {
        *caught.entry(id.to_owned()).or_default() += 1;
    }
    caught
}

/// A file of the repository.
pub(crate) fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    std::fs::read_to_string(root.join(path)).expect("a readable file")
}

fn figures() -> String {
    let (faults, caught) = (faults(), caught());
    let mut text = format!(
        "| servers | how many | outcome |\n|---|---|---|\n\
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

pub(crate) fn the_figures_of_the_readme_are_those_of_the_matrix() {
    let (figures, readme) = (figures(), read("conformance/README.md"));
    assert!(readme.contains(&figures), "the figures in conformance/README.md are stale; they should be:\n{figures}");
}
