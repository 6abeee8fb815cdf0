//! Derives a report again from the recording of its run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::judge::judge;
use super::terms::Terms;
use super::unusable::Unusable;
use crate::http::errors::of_file;

/// This many differences are shown; all are counted.
const MAX_SHOWN: usize = 20;

/// Members that a recording does not show: they describe the container of an image run.
const OF_CONTAINERS: [&str; 2] = ["/candidate_log", "/target/image"];

/// What a report says that its recording does not.
#[derive(Debug, Default)]
pub struct Verification {
    /// The first differences, each as a sentence.
    pub differences: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// How many exchanges the recording contains.
    pub exchanges: usize,
}

/// Why a report cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum Unverifiable {
    /// The report cannot be read.
    #[error("{path}: {source}", path = .0.display(), source = of_file(.1))]
    File(PathBuf, std::io::Error),
    /// The report is not one.
    #[error("{path} is not a JSON report: {source}\n  Write one with: conform --report json=FILE", path = .0.display(), source = .1)]
    NoReport(PathBuf, serde_json::Error),
    /// The recording cannot be judged.
    #[error(transparent)]
    Trace(#[from] Unusable),
}

/// Judges a recorded run again, and compares the result with a JSON report of the run.
///
/// # Errors
///
/// [`Unverifiable`], when either file cannot be read.
pub fn verify(report: &Path, trace: &Path) -> Result<Verification, Unverifiable> {
    let text = std::fs::read_to_string(report).map_err(|error| Unverifiable::File(report.to_owned(), error))?;
    let no_report = |error| Unverifiable::NoReport(report.to_owned(), error);
    let given: Value = serde_json::from_str(&text).map_err(no_report)?;
    let derived = judge(&[trace.to_owned()], &Terms::default())?;
    let mut verification = Verification { exchanges: derived.requests, ..Verification::default() };
    let mut derived = serde_json::to_value(&derived).map_err(no_report)?;
    if given.pointer("/target/image").is_some_and(Value::is_string)
        && let Some(implementation) = derived.pointer_mut("/target/implementation")
    {
        // What the labels of the image say; no exchange shows it.
        *implementation = given["target"]["implementation"].clone();
    }
    compare(&given, &derived, "", &mut verification);
    Ok(verification)
}

/// Notes where two values differ. `place` is a JSON pointer.
fn compare(given: &Value, derived: &Value, place: &str, verification: &mut Verification) {
    if given == derived || OF_CONTAINERS.contains(&place) {
        return;
    }
    match (given, derived) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(added) {
                let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(&of(one), &of(other), &format!("{place}/{name}"), verification);
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
    const MAX: usize = 120;
    let text = match value {
        Value::Array(items) => format!("{} items", items.len()),
        other => other.to_string(),
    };
    let cut = text.floor_char_boundary(MAX);
    if cut < text.len() { format!("{}…", &text[..cut]) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
