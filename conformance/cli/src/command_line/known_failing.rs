//! Files for `--known-failing`: writes the requirements that a run found broken (`--write-known-failing`), and removes those that hold
//! (`--prune-known-failing`).

use std::path::Path;

use toml_edit::{DocumentMut, Item};

use animal_store_conformance::http::errors::of_file;
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::verdict::Status;
use animal_store_rules::verdict::known_failing::{Entry, KnownFailing};

/// A file that cannot be written or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// The file cannot be read.
    #[error("cannot read {0}: {problem}", problem = of_file(.1))]
    Read(String, std::io::Error),
    /// The file cannot be written.
    #[error("cannot write {0}: {problem}", problem = of_file(.1))]
    Write(String, std::io::Error),
    /// The file was changed during the run, and is no TOML any more.
    #[error("{0}: {1}")]
    Toml(String, toml_edit::TomlError),
}

/// Writes the file for the report on a run for which these known failures were listed.
pub(super) fn write(path: &Path, report: &Report, listed: &KnownFailing) -> Result<(), Unusable> {
    std::fs::write(path, of_report(report, listed)).map_err(|error| Unusable::Write(path.display().to_string(), error))
}

/// An entry for each requirement that is broken, with its findings. A reason that was given stays, and so does a last day that is not
/// over. If the run sent everything, the entries name the requirements that they may hide, so that the next run conforms.
fn of_report(report: &Report, listed: &KnownFailing) -> String {
    let mut text = "# Requirements that are known to fail: replace each reason, for example by a ticket.\n".to_owned();
    let broken: Vec<&RequirementReport> = report.requirements.iter().filter(|r| r.is_broken()).collect();
    for requirement in &broken {
        let mut entry = match listed.entry(&requirement.id) {
            Some(entry) if requirement.status == Status::StaleKnownFailing => {
                Entry::new(&requirement.id, &entry.reason, None)
            }
            Some(entry) => entry.clone(),
            None => Entry::new(&requirement.id, &requirement.findings(), None),
        };
        for gap in report.requirements.iter().filter(|r| r.is_gap() && report.ended_early.is_none()) {
            // The first broken requirement of the same section hides the gap, or else the first of all.
            let of_section = broken.iter().find(|broken| broken.section == gap.section);
            if of_section.or(broken.first()).is_some_and(|first| first.id == requirement.id) {
                entry.hides.push(gap.id.clone());
            }
        }
        text.push_str(&format!("\n{}", entry.toml()));
    }
    text
}

/// Removes the entries whose requirement holds from a file, and returns their identifiers. If there are none, the file is not written. A
/// flaky entry stays, because its requirement holds most of the time.
pub(super) fn prune(path: &Path, report: &Report, listed: &KnownFailing) -> Result<Vec<String>, Unusable> {
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Unusable::Read(shown(), error))?;
    let holds = |id: &str| {
        let of_id = report.requirements.iter().find(|requirement| requirement.id == id);
        let has_held = of_id.is_some_and(|requirement| requirement.selected && requirement.status == Status::Pass);
        has_held && listed.expects_failure(id)
    };
    let (left, removed) = without(&text, holds).map_err(|error| Unusable::Toml(shown(), error))?;
    if !removed.is_empty() {
        std::fs::write(path, left).map_err(|error| Unusable::Write(shown(), error))?;
    }
    Ok(removed)
}

/// The text without the entries whose identifier meets `holds`, and the removed identifiers. A comment above an entry is removed with it,
/// unless an empty line is between the two.
fn without(text: &str, holds: impl Fn(&str) -> bool) -> Result<(String, Vec<String>), toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let mut removed = Vec::new();
    let mut is_kept = |id: Option<&str>| match id.filter(|id| holds(id)) {
        Some(id) => {
            removed.push(id.to_owned());
            false
        }
        None => true,
    };
    match document.get_mut("known-failing") {
        Some(Item::ArrayOfTables(entries)) => {
            // Comments that stay although the entry below them is removed: they move above the next entry.
            let mut staying = String::new();
            let mut place = 0;
            while let Some(entry) = entries.get_mut(place) {
                let prefix = entry.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
                if is_kept(entry.get("id").and_then(Item::as_str)) {
                    if !staying.is_empty() {
                        entry.decor_mut().set_prefix(format!("{}{prefix}", std::mem::take(&mut staying)));
                    }
                    place += 1;
                } else {
                    staying.push_str(prefix.rfind("\n\n").map_or("", |end| &prefix[..=end]));
                    entries.remove(place);
                }
            }
            let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{staying}{trailing}"));
        }
        Some(Item::Value(toml_edit::Value::Array(entries))) => {
            entries.retain(|entry| is_kept(entry.as_inline_table().and_then(|entry| entry.get("id")?.as_str())));
        }
        _ => {}
    }
    Ok((format!("{}\n", document.to_string().trim()), removed))
}

#[cfg(test)]
mod tests {
    use animal_store_rules::trace::Trace;

    use super::*;
    use animal_store_conformance::{Options, conclude, context};

    const FILE: &str = r#"# Known failures of the old shop.

# The page size, since 2019.
[[known-failing]]
id = "list.limit-default"
reason = "ticket 1"

# About the gateway.

# Its limit.
[[known-failing]]
id = "quota.recovers" # sometimes
reason = "ticket 2"
expires = "2030-01-01"

[[known-failing]]
id = "list.array"
reason = "ticket 3"
"#;

    #[test]
    fn what_holds_is_removed_with_its_comment_and_everything_else_stays() {
        let (left, removed) = without(FILE, |id| id == "list.array").unwrap();
        assert_eq!(removed, ["list.array"]);
        assert_eq!(left, FILE.split("\n[[known-failing]]\nid = \"list.array\"").next().unwrap());

        let (left, removed) = without(FILE, |id| id == "list.limit-default").unwrap();
        assert_eq!(removed, ["list.limit-default"]);
        let (_, rest) = FILE.split_once("ticket 1\"\n\n").unwrap();
        assert_eq!(left, format!("# Known failures of the old shop.\n\n{rest}"));

        let (left, removed) = without(FILE, |id| id != "list.array").unwrap();
        assert_eq!(removed, ["list.limit-default", "quota.recovers"]);
        let last = "[[known-failing]]\nid = \"list.array\"\nreason = \"ticket 3\"\n";
        assert_eq!(left, format!("# Known failures of the old shop.\n\n# About the gateway.\n\n{last}"));
    }

    #[test]
    fn a_file_of_which_nothing_is_left_can_be_read() {
        for text in [FILE, "known-failing = [{ id = \"list.array\", reason = \"ticket\" }]\n"] {
            let (left, removed) = without(text, |_| true).unwrap();
            assert!(!removed.is_empty() && !left.contains("reason"), "{left}");
            assert_eq!(KnownFailing::parse(&left), Ok(KnownFailing::default()));
        }
    }

    #[test]
    fn a_reason_that_was_given_stays_and_a_last_day_that_is_over_does_not() {
        let entry = |expires: &str| {
            format!("[[known-failing]]\nid = \"list.array\"\nreason = \"ticket 3\"\nexpires = \"{expires}\"\n")
        };
        let written = |status, expires: &str| {
            let mut report = report_of_nothing();
            let requirement =
                report.requirements.iter_mut().find(|requirement| requirement.id == "list.array").unwrap();
            (requirement.status, requirement.selected, requirement.failures) = (status, true, 2);
            of_report(&report, &KnownFailing::parse(&entry(expires)).unwrap())
        };
        assert!(written(Status::KnownFailing, "2099-12-31").ends_with(&entry("2099-12-31")));
        let expired = written(Status::StaleKnownFailing, "2026-01-01");
        assert!(expired.ends_with("id = \"list.array\"\nreason = \"ticket 3\"\n"), "{expired}");
    }

    /// The report on a run that sent nothing.
    fn report_of_nothing() -> Report {
        let options = Options::new("http://h/v1", "sk-1").unwrap();
        let trace = Trace { context: context(&options), exchanges: Vec::new() };
        conclude(&trace, &options, Some("nothing was sent".to_owned()))
    }

    #[test]
    fn a_file_in_which_everything_still_fails_is_the_same_byte_for_byte() {
        assert_eq!(without(FILE, |_| false).unwrap(), (FILE.to_owned(), Vec::new()));
    }
}
