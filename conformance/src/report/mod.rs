//! The report: one value that every renderer reads, and the renderers, one file each.
//!
//! The value holds no secret and no byte that a terminal could act on: both are taken out here, once, so that no renderer
//! can forget to. Renderers compute no verdict.

pub mod json;
pub mod text;

mod curl;
mod model;

pub use model::{
    Choice, Evidence, Report, ReportedExchange, ReportedRequest, ReportedResponse, RequirementReport, SCHEMA_VERSION,
    Target, Tool,
};

use crate::catalogue::Level;
use crate::notes::notes;
use crate::options::Options;
use crate::rules::Failure;
use crate::verdict::{RequirementVerdict, overall};
use crate::wire::exchange::{Exchange, Outcome};
use crate::wire::secret::Redactor;
use crate::wire::trace::Trace;

/// No more failures of one requirement are told in full; all are counted.
const MAX_EVIDENCE: usize = 3;

/// No more characters of a body are shown.
const MAX_SHOWN: usize = 2_000;

/// Puts a report together.
#[must_use]
pub fn assemble(
    trace: &Trace,
    verdicts: &[RequirementVerdict],
    options: &Options,
    transcript_diff: Option<String>,
    ended_early: Option<String>,
) -> Report {
    let first = trace.exchanges.first().map(|exchange| exchange.sent_at);
    let last = trace.exchanges.last().map(|exchange| exchange.received_at);
    let duration = first.zip(last).map_or(0, |(first, last)| last.duration_since(first).as_millis());
    let requirements: Vec<RequirementReport> =
        verdicts.iter().map(|verdict| requirement(trace, verdict, options)).collect();
    let created = trace.exchanges.iter().filter(|e| e.request.method == "POST" && e.status() == Some(201)).count();
    Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        verdict: overall(verdicts, options.strict),
        target: Target {
            base_url: printable(&trace.context.redactor.redact(&trace.context.base_url)),
            plan: options.plan.as_ref().map(ToString::to_string),
        },
        seed: options.seed,
        profile: options.scope.profile,
        strict: options.strict,
        started_at: first.map(|time| time.to_string()),
        requests: trace.exchanges.len(),
        created,
        duration_ms: u64::try_from(duration).unwrap_or_default(),
        ended_early,
        notes: notes(trace, options),
        transcript_diff: transcript_diff.map(|diff| printable(&trace.context.redactor.redact(&diff))),
        gap_profile: requirements.iter().filter_map(choice).collect(),
        requirements,
    }
}

fn requirement(trace: &Trace, verdict: &RequirementVerdict, options: &Options) -> RequirementReport {
    let (strict, seed) = (options.strict, options.seed);
    let hide = |text: &str| printable(&trace.context.redactor.redact(text));
    // The smallest request first: where cases were made simpler, that is the counterexample to read.
    let mut failures: Vec<&Failure> = verdict.failures.iter().collect();
    failures.sort_by_key(|failure| {
        let decisive = failure.exchanges.first().and_then(|number| trace.exchanges.get(number.checked_sub(1)?));
        decisive.map(|exchange| {
            let body = exchange.request.body.as_ref().map_or(0, |body| body.bytes.len());
            body + exchange.request.target().len()
        })
    });
    let evidence = failures
        .into_iter()
        .take(MAX_EVIDENCE)
        .map(|failure| {
            let exchanges: Vec<ReportedExchange> = failure
                .exchanges
                .iter()
                .filter_map(|number| trace.exchanges.get(number.checked_sub(1)?))
                .map(|exchange| ReportedExchange {
                    replay: exchange.case.map(|case| format!("--seed {seed} --replay {case}")),
                    ..reported(trace, exchange)
                })
                .collect();
            let (expected, found) = (hide(&failure.expected), hide(&failure.found));
            Evidence { sentence: format!("expected {expected}; found {found}"), expected, found, exchanges }
        })
        .collect();
    RequirementReport {
        id: verdict.requirement.id.clone(),
        level: verdict.requirement.level,
        section: verdict.requirement.section.clone(),
        title: verdict.requirement.title.clone(),
        selected: verdict.selected,
        violation: verdict.is_violation(strict),
        status: verdict.status,
        judged: verdict.judged,
        failures: verdict.failures.len(),
        reason: verdict.reason.as_deref().map(hide),
        observed: verdict.observed.as_deref().map(hide),
        evidence,
    }
}

fn choice(requirement: &RequirementReport) -> Option<Choice> {
    (requirement.selected && requirement.level == Level::Open).then(|| Choice {
        id: requirement.id.clone(),
        title: requirement.title.clone(),
        observed: requirement.observed.clone(),
    })
}

/// An exchange as reports show it.
pub(crate) fn reported(trace: &Trace, exchange: &Exchange) -> ReportedExchange {
    let redactor = &trace.context.redactor;
    let hide = |text: &str| printable(&redactor.redact(text));
    let request = &exchange.request;
    let mut headers: Vec<(String, String)> =
        request.authorization.iter().map(|value| ("authorization".to_owned(), hide(value))).collect();
    headers.extend(request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), hide(value))));
    headers.extend(request.body.iter().map(|body| ("content-type".to_owned(), hide(&body.content_type))));
    let (response, failure) = match &exchange.outcome {
        Outcome::Response(response) => {
            let headers = response.headers.iter().map(|(name, value)| (hide(name), hide(value))).collect();
            (Some(ReportedResponse { status: response.status, headers, body: shown(&response.body, redactor) }), None)
        }
        Outcome::Failed(failure) => (None, Some(hide(&failure.detail))),
    };
    ReportedExchange {
        number: exchange.number,
        replay: None,
        sent_at: exchange.sent_at.to_string(),
        request: ReportedRequest {
            method: request.method.clone(),
            url: hide(&format!("{}{}", trace.context.base_url, request.target())),
            headers,
            body: request.body.as_ref().map(|body| shown(&body.bytes, redactor)),
        },
        response,
        failure,
        curl: curl::line(&trace.context.base_url, request, redactor),
    }
}

fn shown(body: &[u8], redactor: &Redactor) -> String {
    // Cut after redacting, so that no part of a key is left at the edge.
    let text = printable(&redactor.redact(&String::from_utf8_lossy(body)));
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], body.len()),
        None => text,
    }
}

/// The text with everything escaped that could act on a terminal or deceive a reader: control characters other than line
/// breaks and tabs, and the marks that change the direction of text.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let directs = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() && c != '\n' && c != '\t' || directs {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\r\n"), "a\\u{1b}[31mb\\u{202e}c\\u{d}\n");
    }

    #[test]
    fn a_long_body_is_cut_between_characters_and_its_size_is_told() {
        let body = "ë".repeat(3_000);
        let text = shown(body.as_bytes(), &Redactor::default());
        assert!(text.ends_with("… (6000 bytes in all)") && text.starts_with("ëë"));
    }
}
