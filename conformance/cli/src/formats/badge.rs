//! The badge, as JSON for the endpoint of shields.io.

use serde_json::json;

use animal_store_conformance::report::Report;
use animal_store_rules::verdict::Verdict;

/// The badge of a run.
#[must_use]
pub fn render(report: &Report) -> String {
    of(&[(report.verdict, report.part())])
}

/// The badge of one implementation, or of several together. Each verdict has the part of the requirements that was selected, unless all
/// were. Only conformance with all requirements is green.
#[must_use]
pub fn of(verdicts: &[(Verdict, Option<String>)]) -> String {
    let conforming = verdicts.iter().filter(|(verdict, part)| *verdict == Verdict::Conforms && part.is_none()).count();
    let in_part = verdicts.iter().filter(|(verdict, part)| *verdict == Verdict::Conforms && part.is_some()).count();
    let message = match verdicts {
        [(verdict, Some(part))] => {
            format!("{}, {}", verdict.as_str(), part.split(" selected").next().unwrap_or_default())
        }
        [(verdict, None)] => verdict.as_str().to_owned(),
        _ if in_part > 0 => format!("{conforming} of {} conform, {in_part} in part", verdicts.len()),
        _ => format!("{conforming} of {} conform", verdicts.len()),
    };
    let color = if verdicts.iter().any(|(verdict, _)| *verdict == Verdict::Violates) {
        "red"
    } else if conforming + in_part < verdicts.len() {
        "yellow"
    } else if in_part > 0 {
        "blue"
    } else {
        "brightgreen"
    };
    super::json::pretty(&json!({"schemaVersion": 1, "label": "Animal Store API", "message": message, "color": color}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verdict_that_conforms_with_everything_is_green() {
        use Verdict::{Conforms, Incomplete, Violates};
        let part = || Some("1 of 70 requirements selected, by --only list.array".to_owned());
        for (verdicts, message, color) in [
            (vec![(Conforms, None)], "conforms", "brightgreen"),
            (vec![(Conforms, part())], "conforms, 1 of 70 requirements", "blue"),
            (vec![(Violates, None)], "violates", "red"),
            (vec![(Incomplete, part())], "incomplete, 1 of 70 requirements", "yellow"),
            (vec![(Conforms, None), (Incomplete, None)], "1 of 2 conform", "yellow"),
            (vec![(Conforms, None), (Conforms, part())], "1 of 2 conform, 1 in part", "blue"),
            (vec![(Conforms, None), (Violates, None), (Incomplete, None)], "1 of 3 conform", "red"),
        ] {
            let badge: serde_json::Value = serde_json::from_str(&of(&verdicts)).expect("JSON");
            assert_eq!((badge["message"].as_str(), badge["color"].as_str()), (Some(message), Some(color)));
            assert_eq!((badge["schemaVersion"].as_u64(), badge["label"].as_str()), (Some(1), Some("Animal Store API")));
        }
    }
}
