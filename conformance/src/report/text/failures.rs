//! What is broken: the requirement, what was expected and what came, and a command that shows it again.

use anstyle::Style;

use super::page::{DIM, PLAIN, Page};
use super::{Detail, mark};
use crate::layout::cut;
use crate::report::{Evidence, Report, ReportedExchange, RequirementReport};
use animal_store_rules::verdict::Status;

/// No more exchanges of one failure are told in a line each.
const TOLD: usize = 2;

/// No more lines of a body are shown beside the status.
const BODY_LINES: usize = 3;

/// The requirements that are broken and count as violations, or do not.
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

/// One requirement that is broken.
pub(super) fn failure(page: &mut Page, report: &Report, requirement: &RequirementReport, style: Style, detail: Detail) {
    let (mark, _) = mark(requirement);
    page.blank();
    page.entry(2, (&format!("{mark} {}", requirement.id), style), (&requirement.title, PLAIN));
    let clause = format!(
        "{} · {} · more: {} rules {}",
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
        tell(page, report, evidence, detail);
    }
    if requirement.failures > shown {
        let hint = if detail == Detail::Verbose { "" } else { " like this; -v shows some" };
        page.text(4, DIM, &format!("and {} more{hint}", requirement.failures - shown));
    }
}

/// The command that asks for runs, without its options.
fn program(report: &Report) -> &str {
    report.again.split(" --").next().unwrap_or_default()
}

fn tell(page: &mut Page, report: &Report, evidence: &Evidence, detail: Detail) {
    let mut row = |name: &str, text: &str| page.entry(4, (name, DIM), (text, PLAIN));
    row("expected", &evidence.expected);
    row("found   ", &evidence.found);
    if detail != Detail::Verbose {
        for exchange in evidence.exchanges.iter().take(TOLD) {
            let room = row_room(page);
            let mut row = |name: &str, text: &str| page.entry(4, (name, DIM), (&cut(text, room), PLAIN));
            row("sent    ", &sent(report, exchange));
            row("came    ", &came(exchange));
        }
    }
    for exchange in evidence.exchanges.iter().take(1) {
        page.verbatim(4, &exchange.curl);
        if let Some(options) = &exchange.replay {
            let case = options.rsplit(' ').next().unwrap_or_default();
            page.verbatim(4, &format!("{} --replay {case}", report.again));
        }
    }
    if detail == Detail::Verbose {
        evidence.exchanges.iter().for_each(|exchange| whole(page, exchange));
    }
}

/// The room for what was sent or came, in all its lines.
fn row_room(page: &Page) -> usize {
    page.room(4 + "expected".len() + 2).saturating_mul(BODY_LINES)
}

/// Method, target and body in a line.
fn sent(report: &Report, exchange: &ReportedExchange) -> String {
    let request = &exchange.request;
    let target = request.url.strip_prefix(&report.target.base_url).unwrap_or(&request.url);
    let body = request.body.as_deref().map_or_else(String::new, |body| format!(" {}", in_a_line(body)));
    format!("{} {target}{body}", request.method)
}

/// Status and body in a line, or why there is none.
fn came(exchange: &ReportedExchange) -> String {
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
