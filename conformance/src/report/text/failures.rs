//! Broken requirements: the expectation, the finding, and a command that repeats the request.

use anstyle::Style;

use super::page::{DIM, PLAIN, Page};
use super::{Detail, mark};
use crate::layout::cut;
use crate::report::{Evidence, Report, ReportedExchange, RequirementReport};

/// The maximum number of exchanges of a failure that get a line each.
const SHOWN: usize = 2;

/// The maximum number of lines of a body.
const BODY_LINES: usize = 3;

/// The length of a line of a body where lines are not wrapped.
const MAX_ROW: usize = 100;

/// The maximum number of findings that are shown with their evidence, unless more detail is asked for.
pub(super) const FIRST: usize = 5;

/// Lists the violations, or the warnings, in the order in which to fix them, and returns the number that is listed. With
/// [`Detail::Normal`] it lists at most `most`, and only the first requirement of each likely cause.
pub(super) fn list(
    page: &mut Page,
    report: &Report,
    (title, style): (&str, Style),
    violation: bool,
    detail: Detail,
    most: usize,
) -> usize {
    let of_kind = report.to_fix().into_iter().filter(|requirement| requirement.violation == violation);
    let mut causes: Vec<&str> = Vec::new();
    let mut shown: Vec<&RequirementReport> = Vec::new();
    for requirement in of_kind {
        let cause = report.cause_of(&requirement.id).map(|cause| &*cause.id);
        let is_explained = cause.is_some_and(|cause| causes.contains(&cause));
        if detail != Detail::Normal || !is_explained && shown.len() < most {
            shown.push(requirement);
            causes.extend(cause);
        }
    }
    page.list((style, title), &shown, |page, requirement| failure(page, report, requirement, style, detail));
    shown.len()
}

/// A broken requirement.
pub(super) fn failure(page: &mut Page, report: &Report, requirement: &RequirementReport, style: Style, detail: Detail) {
    let (mark, _) = mark(requirement.outcome());
    page.blank();
    page.entry(2, (&format!("{mark} {}", requirement.id), style), (&requirement.title, PLAIN));
    let clause = format!(
        "{} · {} · details: {} rules {}",
        requirement.section,
        requirement.level.as_str(),
        program(&report.rerun_command),
        requirement.id
    );
    page.text(4, DIM, &clause);
    if let Some(reason) = &requirement.reason {
        page.text(4, PLAIN, reason);
    }
    // The first requirement with a cause is shown in full, and the others in a line for each finding.
    let mut is_first = true;
    if let Some(cause) = report.cause_of(&requirement.id).filter(|_| detail != Detail::Verbose) {
        page.text(4, PLAIN, &format!("likely cause: {}", cause.sentence));
        let first = report.to_fix().into_iter().find(|other| cause.requirements.iter().any(|id| *id == other.id));
        is_first = first.is_some_and(|first| first.id == requirement.id);
    }
    let shown = if detail == Detail::Verbose { requirement.evidence.len() } else { usize::from(is_first) };
    // A finding with another expectation than the first one states it itself.
    if let Some(evidence) = requirement.evidence.first().filter(|_| is_first) {
        page.entry(4, ("expected", DIM), (&evidence.expected, PLAIN));
    }
    for evidence in requirement.evidence.iter().take(shown) {
        finding(page, report, requirement, evidence, detail);
    }
    for evidence in requirement.evidence.iter().skip(shown) {
        page.entry(4, (if is_first { "also    " } else { "found   " }, DIM), (&evidence.finding(), PLAIN));
    }
    if requirement.further_failures() > 0 {
        let hint = if detail == Detail::Verbose { "" } else { " of other kinds" };
        page.text(4, DIM, &format!("and {} more{hint}", requirement.further_failures()));
    }
}

/// The program of a rerun command: the words before its options or its subcommand.
fn program(rerun_command: &str) -> &str {
    let end = [" --", " judge ", " proxy "].iter().filter_map(|end| rerun_command.find(end)).min();
    &rerun_command[..end.unwrap_or(rerun_command.len())]
}

fn finding(page: &mut Page, report: &Report, requirement: &RequirementReport, evidence: &Evidence, detail: Detail) {
    // The room for a request or a response, in all its lines.
    let room = page.room(4 + "expected".len() + 2).min(MAX_ROW).saturating_mul(BODY_LINES);
    let mut row = |name: &str, text: &str| page.entry(4, (name, DIM), (text, PLAIN));
    if requirement.evidence.first().is_some_and(|first| first.expected != evidence.expected) {
        row("expected", &evidence.expected);
    }
    row("found   ", &evidence.finding());
    if let Some(reader) = &evidence.reader {
        row("reader  ", reader);
    }
    if requirement.concerns_limits() {
        evidence.limits_shown(report).iter().for_each(|shown| row("exchange", &shown.to_string()));
    } else if detail != Detail::Verbose {
        for exchange in evidence.exchanges.iter().take(SHOWN) {
            row("request ", &cut(&request(report, exchange), room));
            row("response", &cut(&response(exchange), room));
            if let Some(ids) = exchange.ids() {
                row("ids     ", &ids);
            }
        }
    }
    if let Some(exchange) = evidence.exchanges.first() {
        page.verbatim(4, &exchange.curl);
    }
    if detail == Detail::Verbose {
        evidence.exchanges.iter().for_each(|exchange| whole(page, exchange));
    }
}

/// The method, the target and the body of a request in a line.
fn request(report: &Report, exchange: &ReportedExchange) -> String {
    let request = &exchange.request;
    let target = report.shown_target(&request.url);
    let body = request.body.as_ref().map_or_else(String::new, |body| format!(" {}", with_escapes(&body.text)));
    format!("{} {target}{body}", request.method)
}

/// The status code and the body of a response in a line, or the reason why there is no response.
fn response(exchange: &ReportedExchange) -> String {
    match &exchange.response {
        Some(response) => {
            format!("{} {}", response.status, response.body.text.replace('\n', " ")).trim_end().to_owned()
        }
        None => format!("no response: {}", exchange.failure.as_deref().unwrap_or_default()),
    }
}

/// A request body in a line. A control character is shown as `\u{9}`, because it may be the defect of the body.
fn with_escapes(body: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    body.chars().map(shown).collect()
}

/// An exchange in full.
fn whole(page: &mut Page, exchange: &ReportedExchange) {
    let request = &exchange.request;
    page.text(4, DIM, &format!("exchange {} at {}", exchange.number, exchange.sent_at));
    let mut line = |mark: &str, text: &str| page.entry(6, (mark, PLAIN), (text, PLAIN));
    line(">", &format!("{} {}", request.method, request.url));
    request.headers.iter().for_each(|(name, value)| line(">", &format!("{name}: {value}")));
    if let Some(body) = &request.body {
        line(">", &body.text);
    }
    if let Some(response) = &exchange.response {
        line("<", &response.status.to_string());
        response.headers.iter().for_each(|(name, value)| line("<", &format!("{name}: {value}")));
        line("<", &response.body.text);
    }
    if let Some(failure) = &exchange.failure {
        line("<", &format!("no response: {failure}"));
    }
}

#[cfg(test)]
mod tests {
    use super::{program, with_escapes};

    #[test]
    fn a_control_character_of_a_request_body_is_shown_and_no_escape_of_json_looks_like_it() {
        assert_eq!(with_escapes("{\"name\":\"a\tb\\n\"}\n"), r#"{"name":"a\u{9}b\n"}\u{a}"#);
    }

    #[test]
    fn the_program_stands_before_the_options_and_the_subcommand() {
        assert_eq!(program("cargo xtask conform"), "cargo xtask conform");
        assert_eq!(program("conform --base-url http://127.0.0.1:1/v1 --strict"), "conform");
        assert_eq!(program("cargo xtask conform judge run.jsonl --side both"), "cargo xtask conform");
        assert_eq!(program("conform proxy --to http://127.0.0.1:1/v1 --side both"), "conform");
    }
}
