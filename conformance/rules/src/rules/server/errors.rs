//! Errors: one shape for every error body, and its status member repeats the status.

use super::service::{false_coding, labelled};
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("errors.shape", shape).needing(Needs::BODY),
    Rule::new("errors.status-member", status_member).needing(Needs::BODY),
    Rule::new("errors.media-type", media_type).needing(Needs::HEADERS),
    Rule::new("errors.elsewhere", elsewhere).needing(Needs::BODY),
];

/// Returns true if the specification describes the response as an error other than 429: a status code of its tables, or another
/// refusal of a creation, such as 413, with a body. A malformed request is excluded: it may be refused by an edge, whose errors are
/// its own.
fn is_described(entry: &Entry<'_>) -> bool {
    match (&entry.operation, entry.status()) {
        (Operation::Elsewhere, _) | (_, Some(429)) => false,
        _ if entry.credential.is_malformed() => false,
        (_, Some(400 | 401 | 404)) => true,
        (Operation::Create(_), Some(402..=499)) => entry.json.is_some(),
        _ => false,
    }
}

fn described<'d>(history: &'d History<'_>) -> impl Iterator<Item = &'d Entry<'d>> {
    history.entries.iter().filter(|entry| is_described(entry))
}

/// The defects that keep a body from being an Error, in words. A wrong value of `status` is none of them.
pub(crate) fn misshapen(entry: &Entry<'_>) -> Option<Sentence> {
    if let Some(coding) = false_coding(entry) {
        return Some(coding);
    }
    let json = match &entry.json {
        None => return Some("an empty body".into()),
        Some(Err(error)) => return Some(sentence!("{}", error.to_string())),
        Some(Ok(json)) => json,
    };
    if !matches!(json, Json::Object(_)) {
        return Some(sentence!("{} instead of an object", json.kind()));
    }
    let text = ["code", "message"].into_iter().filter_map(|member| match json.get(member) {
        Some(Json::String(_)) => None,
        Some(value) => Some(sentence!("{} is {}", member, value.kind())),
        None => Some(sentence!("no {}", member)),
    });
    let status = match json.get("status") {
        Some(value) if value.as_int64().is_some() => None,
        Some(value @ (Json::Number(_) | Json::String(_))) => Some(sentence!("status is {}", value)),
        Some(value) => Some(sentence!("status is {}", value.kind())),
        None => Some("no status".into()),
    };
    // All defects at once, so that one look at the response is enough.
    let problems: Vec<Sentence> = text.chain(status).collect();
    (!problems.is_empty()).then(|| sentence!("{}", problems))
}

const SHAPE: &str = "an Error: a string code, a string message and an integer status";

fn shape(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in described(history) {
        match misshapen(entry) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[entry], SHAPE, sentence!("{}: {}", answered(entry), problem)),
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
        judgement.require(entry, member == i64::from(http), sentence!("status {} in the body", http), || {
            sentence!("{} with status {} in the body", answered(entry), member)
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
            || sentence!("{} with {}", answered(entry), labelled(media_type.as_deref())),
        );
    }
}

fn elsewhere(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        let is_limited = entry.operation != Operation::Elsewhere && entry.status() == Some(429);
        let is_error = matches!(entry.status(), Some(400..=599));
        let is_malformed = entry.credential.is_malformed();
        if is_described(entry) || is_limited || is_malformed || !is_error || entry.json.is_none() {
            continue;
        }
        let wrong_status = || {
            let (http, member) = (entry.status()?, entry.value()?.get("status")?.as_int64()?);
            (member != i64::from(http)).then(|| sentence!("status {} in the body", member))
        };
        match misshapen(entry).or_else(wrong_status) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[entry], SHAPE, sentence!("{}: {}", answered(entry), problem)),
        }
    }
}
