//! The broken requirements as SARIF 2.1.0, for code scanning.
//!
//! A result is a broken requirement, so it and its fingerprints stay the same from run to run, until the candidate is fixed. The
//! exchange is in `webRequest` and `webResponse`. Code scanning attaches every result to a file of the repository. The candidate is a
//! running server, so this file is the configuration of the judge: `conform.toml`.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::summary::{lines, sentence};
use crate::exit_code::ExitCode;
use animal_store_conformance::redaction::HIDDEN;
use animal_store_conformance::report::{
    Report, ReportedExchange, ReportedRequest, ReportedResponse, RequirementReport,
};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

/// The file that results are attached to.
const ARTIFACT: &str = "conform.toml";

/// The report for code scanning.
pub fn render(report: &Report) -> String {
    let rules: Vec<&RequirementReport> = report.requirements.iter().filter(|r| r.level != Level::Open).collect();
    let results =
        rules.iter().enumerate().filter(|(_, r)| r.selected).filter_map(|(index, r)| result(report, index, r));
    let run = json!({
        "tool": {"driver": {
            "name": report.tool.name,
            "semanticVersion": report.tool.version,
            "rules": rules.iter().map(|requirement| rule(requirement)).collect::<Vec<_>>(),
        }},
        "automationDetails": {"id": category(report)},
        "invocations": [invocation(report)],
        "columnKind": "unicodeCodePoints",
        "redactionTokens": ["${CONFORM_API_KEY}", "${CONFORM_QUOTA_KEY}", HIDDEN],
        "artifacts": [{"location": {"uri": ARTIFACT}}],
        "results": results.collect::<Vec<_>>(),
        "properties": {
            "verdict": report.verdict.as_str(),
            "selection": report.selection,
            "target": report.target.base_url,
            "side": report.side.as_str(),
            "seed": report.seed,
            "causes": report.causes,
            "identity": report.identity().into_iter().collect::<BTreeMap<_, _>>(),
            "gapProfile": report.gap_profile,
        },
    });
    super::json::render(&json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }))
}

/// The category of the results, which ends in a slash. Results replace earlier ones of their category, so each environment has its own,
/// or without environments each implementation.
fn category(report: &Report) -> String {
    let target = &report.target;
    let judged = target.environment.as_ref().or(target.implementation.name.as_ref()).map(|name| name.replace('/', "-"));
    let parts = [Some(report.tool.name.clone()), judged, Some(report.profile.as_str().to_owned())];
    parts.into_iter().flatten().map(|part| part + "/").collect()
}

fn rule(requirement: &RequirementReport) -> Value {
    let statements: String = requirement.statements.iter().map(|statement| format!("\n- {statement}")).collect();
    let from = requirement.from.as_ref().map_or_else(String::new, |from| format!("\n\nFollows from: {from}"));
    let breaks = requirement.breaks.as_deref().unwrap_or_default();
    let help =
        format!("{}\n\nThe specification, restated:{statements}{from}\n\nViolations: {breaks}", requirement.text);
    let level = if requirement.level == Level::Stated { "error" } else { "warning" };
    json!({
        "id": requirement.id,
        "shortDescription": {"text": requirement.title},
        "fullDescription": {"text": requirement.text},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": [requirement.level.as_str(), requirement.section]},
    })
}

/// The result for a broken requirement.
fn result(report: &Report, index: usize, requirement: &RequirementReport) -> Option<Value> {
    if !matches!(requirement.status, Status::Fail | Status::KnownFailing | Status::StaleKnownFailing) {
        return None;
    }
    let decisive = requirement.decisive();
    let mut location = json!({
        "physicalLocation": {"artifactLocation": {"uri": ARTIFACT, "index": 0}, "region": {"startLine": 1}},
    });
    if let Some(exchange) = decisive {
        location["logicalLocations"] = json!([{"fullyQualifiedName": operation(report, exchange), "kind": "resource"}]);
    }
    let mut result = json!({
        "ruleId": requirement.id,
        "ruleIndex": index,
        "kind": "fail",
        "level": if requirement.violation { "error" } else { "warning" },
        "message": {"text": message(&format!("{}\n\n{}", sentence(requirement), lines(report, requirement)))},
        "locations": [location],
        "occurrenceCount": requirement.failures.max(1),
        "partialFingerprints": {
            "requirement/v1": requirement.id,
            // Without this name, code scanning would hash the line of the file, which is the same for all results.
            "primaryLocationLineHash": format!("{:016x}:1", fnv(&requirement.id)),
        },
    });
    if let Some(exchange) = decisive {
        result["webRequest"] = web_request(&exchange.request);
        result["webResponse"] = web_response(exchange);
    }
    if requirement.status == Status::KnownFailing {
        let reason = requirement.reason.as_deref().unwrap_or_default();
        result["suppressions"] = json!([{"kind": "external", "justification": reason}]);
    }
    Some(result)
}

/// The method and the path without ids: the same in every run.
fn operation(report: &Report, exchange: &ReportedExchange) -> String {
    let (request, address) = (&exchange.request, exchange.replica.as_ref().unwrap_or(&report.target.base_url));
    let path = request.url.strip_prefix(address).unwrap_or(&request.url);
    let path = path.split('?').next().unwrap_or(path);
    let path = if path.starts_with("/pets/") { "/pets/{petId}" } else { path };
    format!("{} {path}", request.method)
}

/// A message without placeholders and links, whatever the candidate sent.
fn message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        match (c, rest.peek()) {
            ('{', Some(digit)) if digit.is_ascii_digit() => out.push('{'),
            (']', Some('(')) => out.push(' '),
            _ => {}
        }
    }
    out
}

fn web_request(request: &ReportedRequest) -> Value {
    let mut value = json!({
        "protocol": "HTTP",
        "version": "1.1",
        "method": request.method,
        "target": request.url,
        "headers": headers(&request.headers),
    });
    if let Some(body) = &request.body {
        value["body"] = json!({"text": body.text});
    }
    value
}

fn web_response(exchange: &ReportedExchange) -> Value {
    let Some(ReportedResponse { status, headers: fields, body, .. }) = &exchange.response else {
        return json!({"noResponseReceived": true, "properties": {"failure": exchange.failure}});
    };
    json!({
        "protocol": "HTTP",
        "version": "1.1",
        "statusCode": status,
        "headers": headers(fields),
        "body": {"text": body.text},
    })
}

/// The fields as an object; values of one name are joined as HTTP joins them.
fn headers(fields: &[(String, String)]) -> Map<String, Value> {
    let mut joined: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in fields {
        joined.entry(name).and_modify(|all| *all = format!("{all}, {value}")).or_insert_with(|| value.clone());
    }
    joined.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

/// The invocation. A requirement that was not exercised is a notification and not a result.
fn invocation(report: &Report) -> Value {
    let mut notifications = Vec::new();
    for gap in report.requirements.iter().filter(|requirement| requirement.is_gap()) {
        let text = message(&format!("{} was not exercised: {}", gap.id, sentence(gap)));
        notifications.push(json!({"level": "warning", "associatedRule": {"id": gap.id}, "message": {"text": text}}));
    }
    let mut invocation = json!({
        "executionSuccessful": report.ended_early.is_none(),
        "commandLine": report.rerun_command,
        "exitCode": ExitCode::from(report.verdict).number(),
        "exitCodeDescription": report.headline(),
        "toolExecutionNotifications": notifications,
    });
    if let Some(start) = report.started_at {
        let duration = SignedDuration::from_millis(i64::try_from(report.duration_ms).unwrap_or(0));
        invocation["startTimeUtc"] = format!("{start:.3}").into();
        invocation["endTimeUtc"] = format!("{:.3}", start.saturating_add(duration).unwrap_or(start)).into();
    }
    invocation
}

/// FNV-1a, 64 bits: short, and the same in every version of this program.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_contains_neither_placeholder_nor_link() {
        assert_eq!(message("{0} {petId} [a](http://x)"), "{{0} {petId} [a] (http://x)");
    }

    #[test]
    fn a_fingerprint_is_that_of_the_published_function() {
        assert_eq!(fnv("foobar"), 0x8594_4171_f739_67e8);
    }
}
