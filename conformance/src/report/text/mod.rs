//! The report as text for a terminal: the verdict, failures, requirements that were not exercised, choices, and at the end the
//! cost and the rerun command.

mod failures;
mod lists;
mod page;

use anstyle::Style;

pub use self::page::{BOLD, DIM, GREEN, RED, YELLOW};
use self::page::{PLAIN, Page};
use super::{Outcome, Report, RequirementReport};
use crate::redaction::Printable;
use animal_store_rules::catalogue::About;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::{Status, Verdict};

/// The level of detail.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Detail {
    /// The verdict and the violations.
    Quiet,
    /// Warnings, choices and figures as well.
    #[default]
    Normal,
    /// Every requirement, and the exchanges behind each failure as well.
    Verbose,
}

/// The maximum length of a paragraph or a command in columns, unless the report is verbose. Other formats do not cut them.
const LONGEST_LINE: usize = 2_000;

/// The report with ANSI colours, in lines of at most this many columns. Commands are never wrapped.
pub fn render(report: &Report, detail: Detail, columns: usize) -> Printable {
    render_with_files(report, detail, columns, &[])
}

/// [`render`], with the names of the files that other reports on this run are written to.
pub fn render_with_files(report: &Report, detail: Detail, columns: usize, files: &[String]) -> Printable {
    let longest = if detail == Detail::Verbose { usize::MAX } else { LONGEST_LINE };
    let mut page = Page::new(columns, longest);
    head(&mut page, report);
    if detail != Detail::Quiet {
        lists::partly_seen(&mut page, report);
    }
    lists::causes(&mut page, report);
    let mut left = failures::FIRST;
    for (title, style, violation) in [("Violations", RED, true), ("Warnings", YELLOW, false)] {
        if violation || detail != Detail::Quiet {
            left -= failures::list(&mut page, report, (title, style), violation, detail, left).min(left);
        }
    }
    // Choices and figures would push the violations off the screen.
    let is_brief = detail == Detail::Normal && report.verdict == Verdict::Violates;
    if detail != Detail::Quiet || report.verdict == Verdict::Incomplete {
        lists::not_exercised(&mut page, report);
    }
    if detail != Detail::Quiet {
        lists::known_failing(&mut page, report, detail);
        lists::replicas(&mut page, report);
        if !is_brief {
            lists::choices(&mut page, report, detail);
        }
        let is_about_limits = |broken: &RequirementReport| matches!(broken.about(), About::Limits | About::Refusals);
        if !is_brief || report.requirements.iter().any(|r| r.status == Status::Fail && is_about_limits(r)) {
            lists::counting(&mut page, report);
        }
        match detail {
            Detail::Verbose => lists::requirements(&mut page, report),
            _ if is_brief => {}
            _ => lists::sections(&mut page, report),
        }
    }
    if detail != Detail::Quiet || report.verdict != Verdict::Conforms {
        foot(&mut page, report, detail, files);
    }
    page.finish()
}

impl std::fmt::Display for Report {
    /// The verdict and the violations, without colours and line wrapping: the message of a failed assertion.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        page::without_styles(&render(self, Detail::Quiet, usize::MAX)).fmt(f)
    }
}

/// The verdict and its counts.
fn head(page: &mut Page, report: &Report) {
    let simulated = report.real_duration_ms.map_or_else(String::new, |real| {
        format!(" (simulated clock: {} s passed in {}.{} s)", report.duration_ms / 1000, real / 1000, real % 1000 / 100)
    });
    // Most of what is asked of clients is about refusals.
    let lacks_refusal = report.side == Side::Client && report.refused == 0;
    let missing = if lacks_refusal { " (no 429 was met: let the tests exceed the limit)" } else { "" };
    let subject = format!("{}{simulated}{missing}", report.subject());
    page.entry(0, (&verdict(report), verdict_style(report.verdict)), (&subject, BOLD));
    page.text(0, PLAIN, &report.counts());
    let plan = report.target.plan.as_ref().map_or_else(String::new, |plan| format!(", plan {plan}"));
    let strict = if report.strict { ", strict" } else { "" };
    page.text(0, DIM, &format!("profile {}{}{plan}{strict}", report.profile.as_str(), report.side_judged()));
    if let Some(title) = report.target.implementation.title() {
        page.text(0, DIM, &format!("implementation {title}"));
    }
    for note in &report.notes {
        page.text(0, YELLOW, &format!("note: {note}"));
    }
    if let Some(reason) = &report.ended_early {
        page.text(0, YELLOW, &format!("The run ended early: {reason}"));
    }
}

/// The verdict in capitals, with the part of the requirements that was selected.
fn verdict(report: &Report) -> String {
    let word = report.verdict.as_str();
    report.verdict_shown().replacen(word, &word.to_uppercase(), 1)
}

fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Conforms => GREEN,
        Verdict::Violates => RED,
        Verdict::Incomplete => YELLOW,
    }
}

/// The end of the report: broken requirements in a line each, the rerun command, the files, the cost, and the verdict again.
fn foot(page: &mut Page, report: &Report, detail: Detail, files: &[String]) {
    let violates = report.verdict == Verdict::Violates;
    if detail != Detail::Quiet && violates {
        lists::recap(page, report);
    }
    if detail == Detail::Normal && violates {
        page.text(2, DIM, "-v shows all findings with their exchanges, the choices of the server and what held");
    }
    page.blank();
    page.text(0, DIM, "Rerun command:");
    page.verbatim(2, &report.rerun_command);
    if !files.is_empty() {
        page.text(0, DIM, "Report files:");
        files.iter().for_each(|file| page.verbatim(2, file));
    }
    let Report { tool, catalogue, specification, seed, .. } = report;
    let judge = format!("{} {}, requirements {} ({})", tool.name, tool.version, catalogue.version, catalogue.short());
    page.blank();
    page.text(0, DIM, &format!("judged by {judge}, specification {specification}"));
    page.blank();
    let figures = format!("{}, seed {seed}", report.cost());
    page.entry(0, (&verdict(report), verdict_style(report.verdict)), (&figures, PLAIN));
}

fn mark(outcome: Outcome) -> (&'static str, Style) {
    let style = match outcome {
        Outcome::Held => GREEN,
        Outcome::Violated | Outcome::StaleKnownFailing => RED,
        Outcome::Warning | Outcome::KnownFailing | Outcome::Gap => YELLOW,
        Outcome::NotExercised | Outcome::Open | Outcome::NotSelected => DIM,
    };
    (outcome.sign(), style)
}
