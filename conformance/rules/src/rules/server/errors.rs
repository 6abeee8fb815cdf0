//! Errors: one shape for every error body, and its status member repeats the status.

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("errors.shape", shape),
    Rule::new("errors.status-member", status_member),
    Rule::new("errors.media-type", media_type),
    Rule::new("errors.elsewhere", elsewhere),
];

/// Answers of operations with an error status that the specification describes, 429 apart.
fn described<'d>(history: &'d History<'_>) -> impl Iterator<Item = &'d Entry<'d>> {
    history
        .entries
        .iter()
        .filter(|entry| entry.operation != Operation::Elsewhere && matches!(entry.status(), Some(400 | 401 | 404)))
}

/// What keeps a body from being an Error, apart from the value of `status`.
pub(crate) fn misshapen(entry: &Entry<'_>) -> Option<String> {
    let json = match &entry.json {
        None => return Some("an empty body".to_owned()),
        Some(Err(error)) => return Some(error.to_string()),
        Some(Ok(json)) => json,
    };
    if !matches!(json, Json::Object(_)) {
        return Some(format!("{} instead of an object", json.kind()));
    }
    for member in ["code", "message"] {
        match json.get(member) {
            Some(Json::String(_)) => {}
            Some(value) => return Some(format!("{member} is {}", value.kind())),
            None => return Some(format!("no {member}")),
        }
    }
    match json.get("status") {
        Some(value) if value.as_int64().is_some() => None,
        Some(Json::Number(number)) => Some(format!("status is {}", number.as_str())),
        Some(value) => Some(format!("status is {}", value.kind())),
        None => Some("no status".to_owned()),
    }
}

const SHAPE: &str = "an Error: a string code, a string message and an integer status";

fn shape(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in described(history) {
        match misshapen(entry) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[entry], SHAPE, format!("{}: {problem}", answered(entry))),
        }
    }
}

fn status_member(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in described(history) {
        let (Some(http), Some(member)) =
            (entry.status(), entry.value().and_then(|json| json.get("status")?.as_int64()))
        else {
            continue;
        };
        judgement.require(entry, member == i64::from(http), format!("status {http} in the body"), || {
            format!("{} with status {member} in the body", answered(entry))
        });
    }
}

fn media_type(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in described(history) {
        let media_type = entry.response().and_then(|response| response.media_type());
        judgement.require(
            entry,
            media_type.as_deref() == Some("application/json"),
            "Content-Type: application/json",
            || format!("{} with {}", answered(entry), media_type.as_deref().unwrap_or("no Content-Type")),
        );
    }
}

fn elsewhere(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        let described =
            entry.operation != Operation::Elsewhere && matches!(entry.status(), Some(400 | 401 | 404 | 429));
        let is_error = matches!(entry.status(), Some(400..=599));
        if described || !is_error || entry.json.is_none() {
            continue;
        }
        let status = || {
            let (http, member) = (entry.status()?, entry.value()?.get("status")?.as_int64()?);
            (member != i64::from(http)).then(|| format!("status {member} in the body"))
        };
        match misshapen(entry).or_else(status) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[entry], SHAPE, format!("{}: {problem}", answered(entry))),
        }
    }
}
