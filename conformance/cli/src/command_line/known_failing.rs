//! `--write-known-failing`: updates a file for `--known-failing` by the report on a run.

use std::path::Path;

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table};

use super::usage_error::UsageError;
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_diagnose::known_failing::{Entry, KnownFailing};
use animal_store_rules::toml_error::TomlError;
use animal_store_rules::verdict::Status;

/// The text that a new file begins with.
const HEADING: &str = "# Requirements that are known to fail: replace each reason, for example by a ticket.\n";

/// Updates the file at `path`, or writes a new one with the entries of the file `list`. `listed` are the known failures of the run. Returns
/// a message with the changes.
pub(super) fn update(
    path: &Path,
    list: Option<&Path>,
    report: &Report,
    listed: &KnownFailing,
) -> Result<String, UsageError> {
    let source = if path.is_file() { Some(path) } else { list };
    let text = match source {
        Some(source) => std::fs::read_to_string(source).map_err(UsageError::of_file("read", source))?,
        None => HEADING.to_owned(),
    };
    // The file may have been changed during the run.
    let (text, changes) = updated(&text, report, listed)
        .map_err(|error| UsageError::Toml { path: source.unwrap_or(path).display().to_string(), source: error })?;
    std::fs::write(path, text).map_err(UsageError::of_file("write", path))?;
    let changes = if changes.is_empty() { "no entry was added or removed".to_owned() } else { changes.join("; ") };
    Ok(format!("{}: {changes}", path.display()))
}

/// The text of a list with an entry for each broken requirement, and the changes in words. A requirement without an entry gets the one of `listed`, or else its
/// findings as the reason. An entry is removed if its requirement holds after a run that sent everything, unless the entry is flaky or the
/// evidence is limited. Such a
/// run also shows which requirements an entry has to hide, so that the next run is complete.
fn updated(text: &str, report: &Report, listed: &KnownFailing) -> Result<(String, Vec<String>), TomlError> {
    let own = KnownFailing::parse(text)?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| TomlError::at(text, error.span().unwrap_or(0..0), error.message()))?;
    let sent_everything = report.ended_early.is_none();
    let holds = |id: &str| {
        let of_id = report.requirement(id).filter(|_| sent_everything && own.expects_failure(id));
        of_id.is_some_and(|held| held.selected && held.status == Status::Pass && held.unseen().is_none())
    };
    let broken: Vec<&RequirementReport> = report.requirements.iter().filter(|found| found.is_broken()).collect();
    let mut hidden: Vec<(&str, &str)> = Vec::new();
    for gap in report.requirements.iter().filter(|found| found.is_gap() && sent_everything) {
        // The first broken requirement of the same section hides the gap, or else the first of all.
        let of_section = broken.iter().find(|broken| broken.section == gap.section);
        hidden.extend(of_section.or(broken.first()).map(|first| (first.id.as_str(), gap.id.as_str())));
    }
    let hidden_by = |id: &str| hidden.iter().filter(|(by, _)| *by == id).map(|(_, gap)| *gap).collect::<Vec<_>>();

    let removed = remove(&mut document, holds);
    for table in entries(&mut document).into_iter().flat_map(ArrayOfTables::iter_mut) {
        for gap in hidden_by(id_of(table).unwrap_or_default()) {
            let hides = table.entry("hides").or_insert(Item::Value(Array::new().into())).as_array_mut();
            if let Some(hides) = hides
                && hides.iter().all(|id| id.as_str() != Some(gap))
            {
                hides.push(gap);
            }
        }
    }
    let mut text = document.to_string();
    let mut added = Vec::new();
    for requirement in broken.iter().filter(|broken| own.entry(&broken.id).is_none()) {
        let id = requirement.id.as_str();
        let given = listed.entry(id).cloned();
        let mut entry = given.unwrap_or_else(|| Entry::new(id, &requirement.findings(), None));
        entry.hides.extend(hidden_by(id).into_iter().map(str::to_owned));
        text.push_str(&format!("\n{}", entry.toml()));
        added.push(id.to_owned());
    }
    let mut changes = Vec::new();
    if !added.is_empty() {
        changes.push(format!("added {}", added.join(", ")));
    }
    if !removed.is_empty() {
        changes.push(format!("removed {}, because these requirements hold", removed.join(", ")));
    }
    if !sent_everything {
        changes.push("removed nothing, because the run did not send everything".to_owned());
    }
    Ok((text, changes))
}

/// The entries of a list, as an array of tables.
fn entries(document: &mut DocumentMut) -> Option<&mut ArrayOfTables> {
    let item = document.get_mut("known-failing")?;
    *item = std::mem::take(item).into_array_of_tables().map_or_else(|other| other, Item::ArrayOfTables);
    item.as_array_of_tables_mut()
}

fn id_of(entry: &Table) -> Option<&str> {
    entry.get("id").and_then(Item::as_str)
}

/// Removes the entries whose identifier meets `holds`, and returns these identifiers. A comment above an entry is removed with it, unless an
/// empty line is between the two.
fn remove(document: &mut DocumentMut, holds: impl Fn(&str) -> bool) -> Vec<String> {
    let mut removed = Vec::new();
    // Comments that stay although the entry below them is removed: they move above the next entry.
    let mut staying = String::new();
    if let Some(entries) = entries(document) {
        let mut place = 0;
        while let Some(entry) = entries.get_mut(place) {
            let prefix = entry.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
            if let Some(id) = id_of(entry).filter(|id| holds(id)) {
                removed.push(id.to_owned());
                staying.push_str(prefix.rfind("\n\n").map_or("", |end| &prefix[..=end]));
                entries.remove(place);
            } else {
                if !staying.is_empty() {
                    entry.decor_mut().set_prefix(format!("{}{prefix}", std::mem::take(&mut staying)));
                }
                place += 1;
            }
        }
    }
    if !removed.is_empty() {
        let trailing = document.trailing().as_str().unwrap_or_default();
        document.set_trailing(format!("{staying}{trailing}"));
    }
    removed
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
flaky = true
expires = "2030-01-01"

[[known-failing]]
id = "list.array"
reason = "ticket 3"
"#;

    /// The text of a list after a run in which requirements had these numbers of failures, and in which others were not exercised.
    fn after(text: &str, listed: &str, ended_early: Option<&str>, judged: &[(&str, usize)]) -> String {
        after_seeing(text, listed, ended_early, judged, None)
    }

    /// As [`after`], where this is the part of every requirement that could not be seen.
    fn after_seeing(
        text: &str,
        listed: &str,
        ended_early: Option<&str>,
        judged: &[(&str, usize)],
        unseen: Option<&str>,
    ) -> String {
        let options = Options::new("http://h/v1", "sk-1").unwrap();
        let trace = Trace { context: context(&options), exchanges: Vec::new() };
        let mut report = conclude(&trace, &options, ended_early.map(str::to_owned), None);
        for requirement in &mut report.requirements {
            requirement.selected = false;
            if let Some((_, failures)) = judged.iter().find(|(id, _)| *id == requirement.id) {
                requirement.status = if *failures > 0 { Status::Fail } else { Status::Pass };
                (requirement.selected, requirement.failures) = (true, *failures);
                requirement.reason = unseen.map(str::to_owned);
            }
        }
        let text = updated(text, &report, &KnownFailing::parse(listed).unwrap()).unwrap().0;
        assert!(KnownFailing::parse(&text).is_ok(), "{text}");
        text
    }

    #[test]
    fn an_entry_whose_requirement_holds_is_removed_with_its_comment_and_everything_else_stays() {
        let without = |held: &[&str]| after(FILE, "", None, &held.iter().map(|id| (*id, 0)).collect::<Vec<_>>());
        assert_eq!(without(&["list.array"]), FILE.split("\n[[known-failing]]\nid = \"list.array\"").next().unwrap());
        let (_, rest) = FILE.split_once("ticket 1\"\n\n").unwrap();
        assert_eq!(without(&["list.limit-default"]), format!("# Known failures of the old shop.\n\n{rest}"));
        assert_eq!(without(&["quota.recovers"]), FILE, "a flaky requirement holds most of the time");
        let inline = "known-failing = [{ id = \"list.array\", reason = \"ticket\" }]\n";
        assert_eq!(after(inline, "", None, &[("list.array", 0)]).trim(), "");
    }

    #[test]
    fn a_run_that_was_cut_short_or_did_not_exercise_a_requirement_removes_no_entry() {
        assert_eq!(after(FILE, "", None, &[("list.limit-default", 2)]), FILE);
        assert_eq!(after(FILE, "", Some("interrupted"), &[("list.array", 0)]), FILE);
        let few = Some("only 3 animals were seen");
        assert_eq!(after_seeing(FILE, "", None, &[("list.array", 0)], few), FILE, "the evidence is limited");
    }

    #[test]
    fn a_broken_requirement_is_added_with_the_reason_of_the_list_that_was_given() {
        let listed = "[[known-failing]]\nid = \"get.not-found\"\nreason = \"ticket 4\"\nexpires = \"2099-12-31\"\n";
        assert_eq!(after(FILE, listed, None, &[("get.not-found", 1)]), format!("{FILE}\n{listed}"));
        let inline = "known-failing = [{ id = \"list.array\", reason = \"ticket 3\" }]\n";
        let inline = after(inline, listed, None, &[("get.not-found", 1)]);
        assert!(inline.contains("ticket 3") && inline.contains("id = \"get.not-found\""), "{inline}");
    }
}
