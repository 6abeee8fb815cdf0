//! The report for people at a terminal: the specification section by section, then what is wrong, then the verdict.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{Choice, Evidence, Report, ReportedExchange, RequirementReport};
use crate::catalogue::Level;
use crate::verdict::{Status, Verdict};

/// How much is told.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Detail {
    /// The failures and the verdict.
    Quiet,
    /// A line for each requirement as well.
    #[default]
    Normal,
    /// The exchanges behind each failure as well.
    Verbose,
}

const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The report with ANSI colours; a stream that is no terminal strips them.
#[must_use]
pub fn render(report: &Report, detail: Detail) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _infallible = write(&mut out, report, detail);
    out
}

impl std::fmt::Display for Report {
    /// What went wrong, and the verdict, without colours: the message of a failed assertion.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        anstream::adapter::strip_str(&render(self, Detail::Quiet)).fmt(f)
    }
}

fn write(out: &mut String, report: &Report, detail: Detail) -> std::fmt::Result {
    let plan = report.target.plan.as_ref().map_or_else(String::new, |plan| format!(" · plan {plan}"));
    let strict = if report.strict { " · strict" } else { "" };
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} {DIM}· profile {}{plan}{strict} · seed {}{DIM:#}",
        report.target.base_url,
        report.profile.as_str(),
        report.seed
    )?;
    for note in &report.notes {
        writeln!(out, "{YELLOW}note:{YELLOW:#} {note}")?;
    }
    if detail != Detail::Quiet {
        sections(out, report)?;
        choices(out, report, detail)?;
        known_failing(out, report, detail)?;
    }
    for (title, style, violation) in [("Violations", RED, true), ("Warnings", YELLOW, false)] {
        let broken: Vec<&RequirementReport> = report
            .requirements
            .iter()
            .filter(|r| matches!(r.status, Status::Fail | Status::StaleKnownFailing) && r.violation == violation)
            .collect();
        if !broken.is_empty() {
            writeln!(out, "\n{style}{title}{style:#}")?;
            broken.into_iter().try_for_each(|requirement| failure(out, requirement, style, detail))?;
        }
    }
    if let Some(diff) = report.transcript_diff.as_ref().filter(|_| detail != Detail::Quiet) {
        writeln!(out, "\n{BOLD}What differs from the transcript of every lawful server{BOLD:#}")?;
        diff.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    not_exercised(out, report)?;
    summary(out, report)
}

fn sections(out: &mut String, report: &Report) -> std::fmt::Result {
    let mut section = "";
    let width = report.requirements.iter().map(|requirement| requirement.id.len()).max().unwrap_or(0);
    for requirement in report.requirements.iter().filter(|r| r.selected && r.level != Level::Open) {
        if requirement.section != section {
            section = &requirement.section;
            writeln!(out, "\n{BOLD}{section}{BOLD:#}")?;
        }
        let (mark, style) = mark(requirement);
        let note = match requirement.status {
            Status::NotExercised => "not exercised".to_owned(),
            Status::Fail | Status::KnownFailing | Status::StaleKnownFailing if requirement.failures > 0 => {
                format!("{} · {} of {} times", requirement.title, requirement.failures, requirement.judged)
            }
            _ => requirement.title.clone(),
        };
        let level = if requirement.level == Level::Inferred { " (inferred)" } else { "" };
        writeln!(out, "  {style}{mark}{style:#} {:width$}  {DIM}{note}{level}{DIM:#}", requirement.id)?;
    }
    Ok(())
}

/// The gap profile, without the questions that nothing answers over HTTP.
fn choices(out: &mut String, report: &Report, detail: Detail) -> std::fmt::Result {
    let told = |choice: &&Choice| choice.observed.is_some() || detail == Detail::Verbose;
    let choices: Vec<&Choice> = report.gap_profile.iter().filter(told).collect();
    if choices.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Choices this server made{BOLD:#} {DIM}(the specification leaves them open){DIM:#}")?;
    let width = choices.iter().map(|choice| choice.id.len()).max().unwrap_or(0);
    for choice in choices {
        let observed = choice.observed.as_deref().unwrap_or("nothing to see in this run").replace('\n', " ");
        writeln!(out, "  · {:width$}  {}: {DIM}{observed}{DIM:#}", choice.id, choice.title)?;
    }
    Ok(())
}

fn known_failing(out: &mut String, report: &Report, detail: Detail) -> std::fmt::Result {
    let known: Vec<&RequirementReport> =
        report.requirements.iter().filter(|r| r.status == Status::KnownFailing).collect();
    if known.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{YELLOW}Known to fail{YELLOW:#}")?;
    for requirement in known {
        if detail == Detail::Verbose {
            failure(out, requirement, YELLOW, detail)?;
        } else {
            let reason = requirement.reason.as_deref().unwrap_or_default();
            writeln!(out, "  {YELLOW}~{YELLOW:#} {}  {DIM}{reason}{DIM:#}", requirement.id)?;
        }
    }
    Ok(())
}

fn mark(requirement: &RequirementReport) -> (&'static str, Style) {
    match (requirement.status, requirement.violation) {
        (Status::Pass, _) => ("✓", GREEN),
        (Status::Fail, true) | (Status::StaleKnownFailing, _) => ("✗", RED),
        (Status::KnownFailing, _) => ("~", YELLOW),
        (Status::Fail, false) => ("!", YELLOW),
        (Status::NotExercised, _) if requirement.level == Level::Stated => ("?", YELLOW),
        (Status::NotExercised, _) => ("-", DIM),
        (Status::Observed, _) => ("·", DIM),
    }
}

fn failure(out: &mut String, requirement: &RequirementReport, style: Style, detail: Detail) -> std::fmt::Result {
    let (mark, _) = mark(requirement);
    writeln!(out, "\n  {style}{mark} {}{style:#}  {}", requirement.id, requirement.title)?;
    writeln!(out, "    {DIM}{}, {}{DIM:#}", requirement.section, requirement.level.as_str())?;
    if let Some(reason) = &requirement.reason {
        writeln!(out, "    {reason}")?;
    }
    let shown = if detail == Detail::Verbose { requirement.evidence.len() } else { 1 };
    for evidence in requirement.evidence.iter().take(shown) {
        evidence_lines(out, evidence, detail)?;
    }
    if requirement.failures > shown {
        writeln!(out, "    {DIM}and {} more{DIM:#}", requirement.failures - shown)?;
    }
    Ok(())
}

fn evidence_lines(out: &mut String, evidence: &Evidence, detail: Detail) -> std::fmt::Result {
    writeln!(out, "    expected  {}", evidence.expected)?;
    writeln!(out, "    found     {}", evidence.found)?;
    for exchange in evidence.exchanges.iter().take(1) {
        writeln!(out, "    again     {}", exchange.curl)?;
        if let Some(options) = &exchange.replay {
            writeln!(out, "    replay    {options}")?;
        }
    }
    if detail == Detail::Verbose {
        evidence.exchanges.iter().try_for_each(|exchange| exchange_lines(out, exchange))?;
    }
    Ok(())
}

fn exchange_lines(out: &mut String, exchange: &ReportedExchange) -> std::fmt::Result {
    let indent = |text: &str| text.replace('\n', "\n      ");
    writeln!(out, "    {DIM}exchange {} at {}{DIM:#}", exchange.number, exchange.sent_at)?;
    writeln!(out, "      > {} {}", exchange.request.method, exchange.request.url)?;
    for (name, value) in &exchange.request.headers {
        writeln!(out, "      > {name}: {value}")?;
    }
    if let Some(body) = &exchange.request.body {
        writeln!(out, "      > {}", indent(body))?;
    }
    if let Some(response) = &exchange.response {
        writeln!(out, "      < {}", response.status)?;
        for (name, value) in &response.headers {
            writeln!(out, "      < {name}: {}", indent(value))?;
        }
        writeln!(out, "      < {}", indent(&response.body))?;
    }
    if let Some(failure) = &exchange.failure {
        writeln!(out, "      < no response: {failure}")?;
    }
    Ok(())
}

fn not_exercised(out: &mut String, report: &Report) -> std::fmt::Result {
    let gaps: Vec<&RequirementReport> = report
        .requirements
        .iter()
        .filter(|r| r.selected && r.status == Status::NotExercised && r.level == Level::Stated)
        .collect();
    if gaps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{YELLOW}Not exercised{YELLOW:#}")?;
    let mut reasons: Vec<&str> = gaps.iter().map(|r| r.reason.as_deref().unwrap_or_default()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        writeln!(out, "  {DIM}{reason}{DIM:#}")?;
        for requirement in gaps.iter().filter(|r| r.reason.as_deref().unwrap_or_default() == reason) {
            writeln!(out, "  {YELLOW}?{YELLOW:#} {}", requirement.id)?;
        }
    }
    Ok(())
}

fn summary(out: &mut String, report: &Report) -> std::fmt::Result {
    let count = |level: Level, status: Status| {
        report.requirements.iter().filter(|r| r.selected && r.level == level && r.status == status).count()
    };
    let stated = report.requirements.iter().filter(|r| r.selected && r.level == Level::Stated).count();
    let apart: String =
        [(Status::KnownFailing, "known to fail"), (Status::StaleKnownFailing, "stale in the known failures")]
            .into_iter()
            .map(|(status, told)| (count(Level::Stated, status) + count(Level::Inferred, status), told))
            .filter(|(count, _)| *count > 0)
            .map(|(count, told)| format!("; {count} {told}"))
            .collect();
    let style = match report.verdict {
        Verdict::Conforms => GREEN,
        Verdict::Violates => RED,
        Verdict::Incomplete => YELLOW,
    };
    if let Some(reason) = &report.ended_early {
        writeln!(out, "\n{YELLOW}The run ended early:{YELLOW:#} {reason}")?;
    }
    writeln!(
        out,
        "\n{style}{}{style:#}  {} of {stated} stated requirements held, {} broken, {} not exercised; {} inferred held, {} broken{apart}",
        report.verdict.as_str().to_uppercase(),
        count(Level::Stated, Status::Pass),
        count(Level::Stated, Status::Fail),
        count(Level::Stated, Status::NotExercised),
        count(Level::Inferred, Status::Pass),
        count(Level::Inferred, Status::Fail),
    )?;
    writeln!(
        out,
        "{DIM}{} requests, {} animals created, {}.{:01} s{DIM:#}",
        report.requests,
        report.created,
        report.duration_ms / 1000,
        report.duration_ms % 1000 / 100
    )
}
