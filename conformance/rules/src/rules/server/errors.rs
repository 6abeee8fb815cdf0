//! Errors: one shape for every error body, and its status member repeats the status.

use super::resources::{lacking, shown};
use super::service::{false_coding, labelled};
use crate::facts::Facts;
use crate::history::Entry;
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("errors.shape", is_described, shape).needing(Needs::BODY),
    Rule::of_entries("errors.status-member", is_described, status_member).needing(Needs::BODY),
    Rule::of_entries("errors.media-type", is_described, media_type).needing(Needs::HEADERS),
    Rule::of_entries("errors.elsewhere", is_elsewhere, elsewhere).needing(Needs::BODY),
];

/// Returns true if the specification describes the response as an error other than 429: a status code of its tables, or another
/// refusal of a creation, such as 413, with a body. The refusal of an edge is excluded: its errors are its own.
fn is_described(entry: &Entry<'_>) -> bool {
    match (&entry.operation, entry.status()) {
        (_, Some(429)) => false,
        _ if entry.may_be_of_edge() || !entry.is_of_operation() => false,
        (_, Some(400 | 401 | 404)) => true,
        (Operation::Create(_), Some(402..=499)) => entry.json.is_some(),
        _ => false,
    }
}

/// Returns true if the response is an error with a body that the specification does not describe.
fn is_elsewhere(entry: &Entry<'_>) -> bool {
    let is_limited = entry.is_of_operation() && entry.status() == Some(429);
    let is_error = matches!(entry.status(), Some(400..=599)) && entry.json.is_some();
    is_error && !is_described(entry) && !is_limited && !entry.may_be_of_edge()
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
        None => Some(lacking(json, member)),
    });
    let status = match json.get("status") {
        Some(value) if value.as_int64().is_some() => None,
        Some(value) => Some(sentence!("status is {}", shown(value))),
        None => Some(lacking(json, "status")),
    };
    // All defects at once, so that one look at the response is enough.
    let problems: Vec<Sentence> = text.chain(status).collect();
    (!problems.is_empty()).then(|| sentence!("{}", problems))
}

const SHAPE: &str = "an Error: a string code, a string message and an integer status";

fn shape(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let problem = misshapen(entry).map(|problem| sentence!("{}: {}", answered(entry), problem));
    judgement.require_no_defect(entry, SHAPE, problem);
}

/// The status code of a response, and the one in the `status` member of its body, if it has both.
fn statuses(entry: &Entry<'_>) -> Option<(u16, i64)> {
    Some((entry.status()?, entry.value()?.get("status")?.as_int64()?))
}

/// The `status` member of a body that is not the status code of its response, in words.
pub(super) fn other_status(entry: &Entry<'_>) -> Option<Sentence> {
    let (http, member) = statuses(entry)?;
    (member != i64::from(http)).then(|| sentence!("status {} in the body", member))
}

fn status_member(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let Some((http, member)) = statuses(entry) else { return };
    judgement.require(entry, member == i64::from(http), sentence!("status {} in the body", http), || {
        sentence!("{} with status {} in the body", answered(entry), member)
    });
}

fn media_type(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let media_type = entry.response().and_then(|response| response.media_type());
    let is_json = media_type.as_deref() == Some("application/json");
    judgement.require(entry, is_json, "Content-Type: application/json", || {
        sentence!("{} with {}", answered(entry), labelled(media_type.as_deref()))
    });
}

fn elsewhere(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let problem = misshapen(entry).or_else(|| other_status(entry));
    judgement.require_no_defect(entry, SHAPE, problem.map(|problem| sentence!("{}: {}", answered(entry), problem)));
}
