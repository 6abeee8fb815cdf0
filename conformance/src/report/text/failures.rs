//! Broken requirements: what was expected and what was found, and a command that repeats the request.

use anstyle::Style;

use super::page::{DIM, PLAIN, Page};
use super::{Detail, mark};
use crate::layout::cut;
use crate::report::{Evidence, Report, ReportedExchange, RequirementReport};
use animal_store_rules::verdict::Status;

/// The maximum number of exchanges of a failure that get a line each.
const SHOWN: usize = 2;

/// The maximum number of lines of a body.
const BODY_LINES: usize = 3;

/// The broken requirements that are violations, or those that are not.
pub(super) fn list(page: &mut Page, report: &Report, title: &str, style: Style, violation: bool, detail: Detail) {
    let broken: Vec<&RequirementReport> = report
        .requirements
        .iter()
        .filter(|r| matches!(r.status, Status::Fail | Status::StaleKnownFailing) && r.violation == violation)
        .collect();
    if !broken.is_empty() {
        page.title(style, title);
        broken.into_iter().for_each(|requirement| failure(page, report, requirement, style, detail));
    }
}

/// A broken requirement.
pub(super) fn failure(page: &mut Page, report: &Report, requirement: &RequirementReport, style: Style, detail: Detail) {
    let (mark, _) = mark(requirement);
    page.blank();
    page.entry(2, (&format!("{mark} {}", requirement.id), style), (&requirement.title, PLAIN));
    let clause = format!(
        "{} · {} · details: {} rules {}",
        requirement.section,
        requirement.level.as_str(),
        program(report),
        requirement.id
    );
    page.text(4, DIM, &clause);
    if let Some(reason) = &requirement.reason {
        page.text(4, PLAIN, reason);
    }
    let shown = if detail == Detail::Verbose { requirement.evidence.len() } else { 1 };
    for evidence in requirement.evidence.iter().take(shown) {
        finding(page, report, evidence, detail);
    }
    if requirement.failures > shown {
        let hint = if detail == Detail::Verbose { "" } else { " like this; -v shows more" };
        page.text(4, DIM, &format!("and {} more{hint}", requirement.failures - shown));
    }
}

/// The rerun command without its options.
fn program(report: &Report) -> &str {
    report.rerun_command.split(" --").next().unwrap_or_default()
}

fn finding(page: &mut Page, report: &Report, evidence: &Evidence, detail: Detail) {
    let mut row = |name: &str, text: &str| page.entry(4, (name, DIM), (text, PLAIN));
    row("expected", &evidence.expected);
    row("found   ", &evidence.found);
    if detail != Detail::Verbose {
        for exchange in evidence.exchanges.iter().take(SHOWN) {
            let room = row_room(page);
            let mut row = |name: &str, text: &str| page.entry(4, (name, DIM), (&cut(text, room), PLAIN));
            row("request ", &request(report, exchange));
            row("response", &response(exchange));
        }
    }
    for exchange in evidence.exchanges.iter().take(1) {
        page.verbatim(4, &exchange.curl);
        if let Some(options) = &exchange.replay {
            let case = options.rsplit(' ').next().unwrap_or_default();
            page.verbatim(4, &format!("{} --replay {case}", report.rerun_command));
        }
    }
    if detail == Detail::Verbose {
        evidence.exchanges.iter().for_each(|exchange| whole(page, exchange));
    }
}

/// The room for a request or a response, in all its lines.
fn row_room(page: &Page) -> usize {
    page.room(4 + "expected".len() + 2).saturating_mul(BODY_LINES)
}

/// Method, target and body in a line.
fn request(report: &Report, exchange: &ReportedExchange) -> String {
    let request = &exchange.request;
    let target = request.url.strip_prefix(&report.target.base_url).unwrap_or(&request.url);
    let body = request.body.as_deref().map_or_else(String::new, |body| format!(" {}", in_a_line(body)));
    format!("{} {target}{body}", request.method)
}

/// Status and body in a line, or why there is none.
fn response(exchange: &ReportedExchange) -> String {
    match (&exchange.response, &exchange.failure) {
        (Some(response), _) => format!("{} {}", response.status, in_a_line(&response.body)).trim_end().to_owned(),
        (None, Some(failure)) => format!("no response: {failure}"),
        (None, None) => "no response".to_owned(),
    }
}

fn in_a_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// An exchange in full.
fn whole(page: &mut Page, exchange: &ReportedExchange) {
    let request = &exchange.request;
    page.text(4, DIM, &format!("exchange {} at {}", exchange.number, exchange.sent_at));
    let mut line = |mark: &str, text: &str| page.entry(6, (mark, PLAIN), (text, PLAIN));
    line(">", &format!("{} {}", request.method, request.url));
    request.headers.iter().for_each(|(name, value)| line(">", &format!("{name}: {value}")));
    if let Some(body) = &request.body {
        line(">", body);
    }
    if let Some(response) = &exchange.response {
        line("<", &response.status.to_string());
        response.headers.iter().for_each(|(name, value)| line("<", &format!("{name}: {value}")));
        line("<", &response.body);
    }
    if let Some(failure) = &exchange.failure {
        line("<", &format!("no response: {failure}"));
    }
}
