//! `--write-known-failing FILE`: what a run found broken, as a file for `--known-failing`.

use crate::report::{Report, RequirementReport};
use animal_store_rules::verdict::Status;

/// The file for a report: an entry for each requirement that is broken, with what was found. A reason that was given stays.
pub(super) fn of_report(report: &Report) -> String {
    let mut text = "# Requirements that are known to fail: replace each reason, for example by a ticket.\n".to_owned();
    let is_broken = |requirement: &&RequirementReport| {
        requirement.selected && matches!(requirement.status, Status::Fail | Status::KnownFailing)
    };
    for requirement in report.requirements.iter().filter(is_broken) {
        let reason = match (requirement.status, &requirement.reason) {
            (Status::KnownFailing, Some(reason)) => reason.clone(),
            _ => requirement.findings(),
        };
        let reason: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // A JSON string without control characters is a basic string of TOML too.
        let reason = serde_json::Value::from(reason);
        text.push_str(&format!("\n[[known-failing]]\nid = \"{}\"\nreason = {reason}\n", requirement.id));
    }
    text
}
