//! Derives a report again from the recording of its traffic.
//!
//! The comparison shows that the report follows from the recording. It does not show that the server sent the recorded responses.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::recording::Head;
use animal_store_rules::trace::recording::sample::{PREFIX, pseudonym_at};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::judge::{Judged, judged, name_of};
use super::terms::Terms;
use super::unusable::Unusable;
use crate::http::errors::of_file;
use crate::layout::at_most;
use crate::report::Report;

/// The maximum number of differences that are shown; all are counted.
const MAX_SHOWN: usize = 20;

/// The members of a report that no recording shows: they describe the container of an image run.
const OF_CONTAINERS: [&str; 2] = ["/candidate_log", "/target/image"];

/// The differences between a report and its recording.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verification {
    /// The reasons why the report may differ although it was not changed: another version wrote it, or the recording.
    pub reasons: Vec<String>,
    /// The first differences, each as a sentence.
    pub differences: Vec<String>,
    /// The number of all differences.
    pub count: usize,
    /// Notes of the report that a proxy wrote about itself and its command. No exchange shows them, so they are not compared.
    pub not_compared: Vec<String>,
    /// The number of exchanges in the recording.
    pub exchanges: usize,
}

/// The reason why a report cannot be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unverifiable {
    /// The report cannot be read.
    #[error("{path}: {source}", path = .0.display(), source = of_file(.1))]
    File(PathBuf, std::io::Error),
    /// The file is not a JSON report.
    #[error("{path} is not a JSON report: {source}\n  Write one with: conform --report json=FILE", path = .0.display(), source = .1)]
    NoReport(PathBuf, serde_json::Error),
    /// The recording cannot be judged.
    #[error(transparent)]
    Trace(#[from] Unusable),
}

/// Judges a recording again, and compares the result with a JSON report on it: of the run, of `conform judge` or of `conform proxy`. The
/// recording is judged on the terms that the report states; `terms` adds the known failures, which no report states.
///
/// # Errors
///
/// [`Unverifiable`], when either file cannot be read.
pub fn verify(report: &Path, trace: &Path, terms: &Terms) -> Result<Verification, Unverifiable> {
    let text = std::fs::read_to_string(report).map_err(|error| Unverifiable::File(report.to_owned(), error))?;
    let no_report = |error| Unverifiable::NoReport(report.to_owned(), error);
    let _: NoDuplicates = serde_json::from_str(&text).map_err(no_report)?;
    let mut given: Value = serde_json::from_str(&text).map_err(no_report)?;
    if !given.is_object() {
        return Err(no_report(serde_json::Error::custom("a report is an object")));
    }
    let Judged { report: derived, head, is_run } = judged(&[trace.to_owned()], &stated_terms(&given, terms))?;
    let mut verification = Verification { exchanges: derived.requests, ..Verification::default() };
    verification.reasons = other_versions(&given, head.as_ref(), &derived);
    let mut derived = serde_json::to_value(&derived).map_err(no_report)?;
    if given.pointer("/target/image").is_some_and(Value::is_string)
        && let Some(implementation) = derived.pointer_mut("/target/implementation")
    {
        // The implementation is known from the labels of the image; no exchange shows it.
        *implementation = given["target"]["implementation"].clone();
    }
    if !is_run {
        // The rerun command names the files, which may have been moved.
        derived["rerun_command"] = given["rerun_command"].clone();
        rename_in_notes(&given, &mut derived, &name_of(trace));
        if head.is_some_and(|head| head.extent == Extent::Conversation) {
            verification.not_compared = without_notes_of_proxy(&mut given, &derived);
        }
        for report in [&mut given, &mut derived] {
            PseudonymNames::default().unify(report);
        }
    }
    // A difference of versions explains others, so it comes first.
    for member in ["tool", "catalogue"] {
        compare(&given[member].take(), &derived[member].take(), &format!("/{member}"), &mut verification);
    }
    compare(&given, &derived, "", &mut verification);
    Ok(verification)
}

/// The terms of a report, as far as it states them.
fn stated_terms(given: &Value, terms: &Terms) -> Terms {
    let text = |place: &str| given.pointer(place).and_then(Value::as_str);
    let options: Vec<&str> = given
        .pointer("/selection/by")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let ids = |option: &str| -> Vec<String> {
        options.iter().filter_map(|by| by.strip_prefix(option)).map(|id| id.trim().to_owned()).collect()
    };
    let (only, skip) = (ids("--only "), ids("--skip "));
    let profile = text("/profile").and_then(|name| name.parse().ok()).unwrap_or_default();
    let has_base_url =
        text("/rerun_command").is_some_and(|command| command.split(' ').any(|word| word == "--base-url"));
    Terms {
        base_url: text("/target/base_url").filter(|_| has_base_url).map(str::to_owned),
        plan: text("/target/plan").and_then(|plan| plan.parse().ok()),
        side: text("/side").and_then(|side| side.parse().ok()),
        scope: (!only.is_empty() || !skip.is_empty()).then(|| Scope { profile, only, skip, ..Scope::default() }),
        // A recorded run that was strict is never judged less strictly.
        strict: given["strict"].as_bool().filter(|strict| *strict),
        ..terms.clone()
    }
}

/// The warnings about a report or a recording that another version of the judge or of its catalogue wrote.
fn other_versions(given: &Value, head: Option<&Head>, derived: &Report) -> Vec<String> {
    let own = (derived.tool.version.as_str(), derived.catalogue.short());
    let text = |place: &str| given.pointer(place).and_then(Value::as_str).unwrap_or("unknown");
    let short = |digest: &str| digest.get(..own.1.len()).unwrap_or(digest).to_owned();
    let writers = [
        ("report", Some((text("/tool/version"), short(text("/catalogue/digest"))))),
        ("recording", head.map(|head| (head.writer.version.as_str(), short(&head.catalogue)))),
    ];
    let mut others = Vec::new();
    for (what, writer) in writers {
        let Some((version, catalogue)) = writer else { continue };
        if version != own.0 || catalogue != own.1 {
            others.push(format!(
                "version {version} with the catalogue {catalogue} wrote the {what}, and version {} with the catalogue {} verifies it: \
                 verdicts may differ, so verify with the version that wrote the report",
                own.0, own.1
            ));
        }
    }
    others
}

/// Replaces the present name of the recording in notes by the name that the report has for it.
fn rename_in_notes(given: &Value, derived: &mut Value, name: &str) {
    let stated: Vec<&str> = given["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for note in derived["notes"].as_array_mut().into_iter().flatten() {
        let rest = note.as_str().and_then(|note| note.strip_prefix(name)).filter(|rest| rest.starts_with(": "));
        let Some(rest) = rest else { continue };
        // The file may have been moved or renamed since. A text with white space is a sentence and no name of a file.
        let renamed = stated.iter().find(|stated| {
            stated.strip_suffix(rest).is_some_and(|file| file == name || !file.contains(char::is_whitespace))
        });
        if let Some(renamed) = renamed {
            *note = Value::from(*renamed);
        }
    }
}

/// Removes the notes of a report that its recording does not give, and returns them.
fn without_notes_of_proxy(given: &mut Value, derived: &Value) -> Vec<String> {
    let shown = derived["notes"].as_array().cloned().unwrap_or_default();
    let mut removed = Vec::new();
    if let Some(notes) = given["notes"].as_array_mut() {
        notes.retain(|note| {
            let is_shown = shown.contains(note);
            removed.extend(note.as_str().filter(|_| !is_shown).map(str::to_owned));
            is_shown
        });
    }
    removed
}

/// The pseudonyms in a report. Each judgement of recorded traffic draws new ones.
#[derive(Default)]
struct PseudonymNames {
    /// The pseudonyms in the order of their first occurrence.
    found: Vec<String>,
}

impl PseudonymNames {
    /// Replaces each pseudonym by its number in the order of first occurrence, so that two reports can be compared.
    fn unify(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.unified(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.unify(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.unify(member)),
            _ => {}
        }
    }

    fn unified(&mut self, text: &str) -> String {
        let mut pieces = text.split(PREFIX);
        let mut unified = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let name = pseudonym_at(piece);
            let number = name.map(|name| match self.found.iter().position(|known| known == name) {
                Some(at) => at,
                None => {
                    self.found.push(name.to_owned());
                    self.found.len() - 1
                }
            });
            unified.push_str(PREFIX);
            unified.extend(number.map(|number| format!("{{{number}}}")));
            unified.push_str(&piece[name.map_or(0, str::len)..]);
        }
        unified
    }
}

/// A JSON text in which no object has two members of one name: readers differ in which of the two they take.
struct NoDuplicates;

impl<'de> Deserialize<'de> for NoDuplicates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NoDuplicates, D::Error> {
        deserializer.deserialize_any(NoDuplicates)
    }
}

impl<'de> Visitor<'de> for NoDuplicates {
    type Value = NoDuplicates;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoDuplicates, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            map.next_value::<NoDuplicates>()?;
            if names.contains(&name) {
                return Err(A::Error::custom(format!("an object has two members `{name}`: remove one of them")));
            }
            names.insert(name);
        }
        Ok(NoDuplicates)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<NoDuplicates, A::Error> {
        while items.next_element::<NoDuplicates>()?.is_some() {}
        Ok(NoDuplicates)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }

    fn visit_unit<E: Error>(self) -> Result<NoDuplicates, E> {
        Ok(NoDuplicates)
    }
}

/// Notes each difference between two values at `place`, a JSON pointer.
fn compare(given: &Value, derived: &Value, place: &str, verification: &mut Verification) {
    if given == derived || OF_CONTAINERS.contains(&place) {
        return;
    }
    match (given, derived) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(added) {
                let member = |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(&member(one), &member(other), &format!("{place}/{name}"), verification);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                // A requirement is known by its identifier.
                let name = one.get("id").and_then(Value::as_str).map_or_else(|| at.to_string(), str::to_owned);
                compare(one, other, &format!("{place}/{name}"), verification);
            }
        }
        _ => {
            verification.count += 1;
            if verification.differences.len() < MAX_SHOWN {
                let place = if place.is_empty() { "the report" } else { place };
                let difference = format!("{place}: {} in the report, {} in the trace", shown(given), shown(derived));
                verification.differences.push(difference);
            }
        }
    }
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("{} items", items.len()),
        other => at_most(&other.to_string(), 120),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pseudonyms_are_unified_by_the_order_in_which_they_occur() {
        let unified = |value: Value| {
            let mut value = value;
            PseudonymNames::default().unify(&mut value);
            value
        };
        let one = unified(json!({"a": "Bearer key-1-abcd", "b": ["key-2-abcd key-1-abcd", "a key-less monkey-3-abc"]}));
        assert_eq!(
            one,
            unified(json!({"a": "Bearer key-7-wxyz", "b": ["key-1-wxyz key-7-wxyz", "a key-less monkey-3-abc"]}))
        );
        assert_ne!(
            one,
            unified(json!({"a": "Bearer key-1-abcd", "b": ["key-1-abcd key-2-abcd", "a key-less monkey-3-abc"]}))
        );
    }

    #[test]
    fn an_object_with_two_members_of_one_name_is_found_at_any_depth() {
        let error = |text: &str| serde_json::from_str::<NoDuplicates>(text).err().map(|error| error.to_string());
        assert_eq!(error(r#"{"a": [{"b": 1, "c": {"b": null}}, {"b": 1.5}], "d": true}"#), None);
        let duplicate = error("{\"a\": [\n{\"b\": 1, \"c\": \"\", \"b\": 1}]}").expect("an error");
        assert!(duplicate.contains("two members `b`") && duplicate.contains("line 2"), "{duplicate}");
        assert!(error(r#"{"a": 1, "\u0061": -1}"#).is_some());
    }

    #[test]
    fn a_difference_names_its_place_and_both_values() {
        let given =
            json!({"verdict": "conforms", "requirements": [{"id": "list.array", "status": "pass"}], "notes": []});
        let derived =
            json!({"verdict": "violates", "requirements": [{"id": "list.array", "status": "fail"}], "notes": ["x"]});
        let mut verification = Verification::default();
        compare(&given, &derived, "", &mut verification);
        assert_eq!(
            verification.differences,
            [
                "/notes: 0 items in the report, 1 items in the trace",
                "/requirements/list.array/status: \"pass\" in the report, \"fail\" in the trace",
                "/verdict: \"conforms\" in the report, \"violates\" in the trace",
            ]
        );
        let mut same = Verification::default();
        compare(&given, &given, "", &mut same);
        compare(&json!({"candidate_log": "x"}), &json!({"candidate_log": null}), "", &mut same);
        assert_eq!(same.count, 0);
    }
}
