//! Errors: one shape for every error body, and its status member repeats the status.

use crate::history::{Case, Docket};
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule { id: "errors.shape", judge: shape },
    Rule { id: "errors.status-member", judge: status_member },
    Rule { id: "errors.media-type", judge: media_type },
    Rule { id: "errors.elsewhere", judge: elsewhere },
];

/// Answers of operations with an error status that the specification describes, 429 apart.
fn described<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = &'d Case<'d>> {
    docket
        .cases
        .iter()
        .filter(|case| case.operation != Operation::Elsewhere && matches!(case.status(), Some(400 | 401 | 404)))
}

/// What keeps a body from being an Error, apart from the value of `status`.
pub(crate) fn misshapen(case: &Case<'_>) -> Option<String> {
    let json = match &case.json {
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

fn shape(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in described(docket) {
        match misshapen(case) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[case], SHAPE, format!("{}: {problem}", answered(case))),
        }
    }
}

fn status_member(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in described(docket) {
        let (Some(http), Some(member)) = (case.status(), case.value().and_then(|json| json.get("status")?.as_int64()))
        else {
            continue;
        };
        judgement.require(case, member == i64::from(http), format!("status {http} in the body"), || {
            format!("{} with status {member} in the body", answered(case))
        });
    }
}

fn media_type(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in described(docket) {
        let media_type = case.response().and_then(|response| response.media_type());
        judgement.require(
            case,
            media_type.as_deref() == Some("application/json"),
            "Content-Type: application/json",
            || format!("{} with {}", answered(case), media_type.as_deref().unwrap_or("no Content-Type")),
        );
    }
}

fn elsewhere(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in &docket.cases {
        let described = case.operation != Operation::Elsewhere && matches!(case.status(), Some(400 | 401 | 404 | 429));
        let is_error = matches!(case.status(), Some(400..=599));
        if described || !is_error || case.json.is_none() {
            continue;
        }
        let status = || {
            let (http, member) = (case.status()?, case.value()?.get("status")?.as_int64()?);
            (member != i64::from(http)).then(|| format!("status {member} in the body"))
        };
        match misshapen(case).or_else(status) {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[case], SHAPE, format!("{}: {problem}", answered(case))),
        }
    }
}
