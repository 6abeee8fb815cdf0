//! A badge: what the endpoint of shields.io reads.

use serde_json::json;

use super::Report;
use animal_store_rules::verdict::Verdict;

/// The badge of a run.
#[must_use]
pub fn render(report: &Report) -> String {
    of_verdicts(&[report.verdict])
}

/// The badge of one implementation, or of several together.
#[must_use]
pub fn of_verdicts(verdicts: &[Verdict]) -> String {
    let conforming = verdicts.iter().filter(|verdict| **verdict == Verdict::Conforms).count();
    let message = match verdicts {
        [verdict] => verdict.as_str().to_owned(),
        _ => format!("{conforming} of {} conform", verdicts.len()),
    };
    let color = if verdicts.contains(&Verdict::Violates) {
        "red"
    } else if conforming < verdicts.len() {
        "yellow"
    } else {
        "brightgreen"
    };
    super::json::pretty(&json!({"schemaVersion": 1, "label": "Animal Store API", "message": message, "color": color}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verdict_that_conforms_is_green() {
        use Verdict::{Conforms, Incomplete, Violates};
        for (verdicts, message, color) in [
            (&[Conforms][..], "conforms", "brightgreen"),
            (&[Violates], "violates", "red"),
            (&[Incomplete], "incomplete", "yellow"),
            (&[Conforms, Incomplete], "1 of 2 conform", "yellow"),
            (&[Conforms, Violates, Incomplete], "1 of 3 conform", "red"),
        ] {
            let badge: serde_json::Value = serde_json::from_str(&of_verdicts(verdicts)).expect("JSON");
            assert_eq!((badge["message"].as_str(), badge["color"].as_str()), (Some(message), Some(color)));
            assert_eq!((badge["schemaVersion"].as_u64(), badge["label"].as_str()), (Some(1), Some("Animal Store API")));
        }
    }
}
