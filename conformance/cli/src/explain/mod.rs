//! The catalogue as text and JSON: a list of requirements, or one requirement with its explanation.

pub mod examples;

use std::fmt::Write;

use serde::Serialize;

use crate::formats::written;
use animal_store_conformance::layout::{at_most, wrap};
use animal_store_conformance::redaction::Printable;
use animal_store_conformance::report::ReportedExchange;
use animal_store_conformance::report::text::{BOLD, DIM};
use animal_store_rules::catalogue::{Level, Party, Requirement, catalogue};
use animal_store_rules::limits::WORKED_TRACE;
use animal_store_rules::near_misses::{NearMiss, Target};
use animal_store_rules::verdict::near_misses;

/// The maximum length of a line of running text in columns.
const WIDTH: usize = 96;

/// The most near misses of a requirement that the text names.
const NEAR_MISSES: usize = 8;

/// The explanation of a requirement.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The entry of the requirement in the catalogue.
    #[serde(flatten)]
    pub requirement: &'static Requirement,
    /// The statements of the specification that the requirement covers, restated.
    pub statements: Vec<&'static str>,
    /// The parts of a run that exercise the requirement, or none if it cannot be observed or binds clients.
    pub exercised_by: Vec<&'static str>,
    /// The requests that are nearly right, for which a success breaks the requirement.
    pub near_misses: Vec<ExplainedNearMiss>,
    /// The requests and lawful responses, or none if the requirement cannot be observed over HTTP.
    pub example: Vec<ReportedExchange>,
}

/// A request that is nearly right.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedNearMiss {
    /// The request, without names, ids and keys.
    pub request: String,
    /// A reader that takes it for another request, and how.
    pub reader: &'static str,
}

/// Explains a requirement.
pub fn explain(requirement: &'static Requirement) -> Explanation {
    let rows = near_misses::of_requirement(&requirement.id);
    let near_miss = |row: &NearMiss| ExplainedNearMiss { request: row.step(Target::List), reader: row.reader };
    Explanation {
        requirement,
        statements: catalogue().statements_behind(&requirement.id).map(|statement| statement.gist.as_str()).collect(),
        exercised_by: requirement.needs.iter().map(|part| part.as_str()).collect(),
        near_misses: rows.into_iter().map(near_miss).collect(),
        example: examples::shown(requirement),
    }
}

/// The requirements by section, a line each, with ANSI styles.
pub fn list(requirements: &[&Requirement]) -> Printable {
    let list = written(|out| {
        let width = requirements.iter().map(|requirement| requirement.id.len()).max().unwrap_or(0);
        let mut section = "";
        for requirement in requirements {
            let heading = match requirement.party {
                Party::Server => &requirement.section,
                Party::Client => "Requirements of clients, judged in recorded traffic only",
            };
            if heading != section {
                let blank = if section.is_empty() { "" } else { "\n" };
                section = heading;
                writeln!(out, "{blank}{BOLD}{section}{BOLD:#}")?;
            }
            let level = requirement.level.as_str();
            writeln!(out, "  {:width$}  {DIM}{level:8}{DIM:#}  {}", requirement.id, requirement.title)?;
        }
        let count = |level| requirements.iter().filter(|requirement| requirement.level == level).count();
        let (stated, inferred, open) = (count(Level::Stated), count(Level::Inferred), count(Level::Open));
        writeln!(out, "\n{DIM}{stated} stated, {inferred} inferred, {open} open{DIM:#}")
    });
    Printable::styled(&list)
}

/// An explanation as text, with ANSI styles.
pub fn text(explanation: &Explanation) -> Printable {
    Printable::styled(&written(|out| write_text(out, explanation)))
}

fn write_text(out: &mut String, explanation: &Explanation) -> std::fmt::Result {
    let requirement = explanation.requirement;
    writeln!(out, "{BOLD}{}{BOLD:#}  {}", requirement.id, requirement.title)?;
    writeln!(out, "{DIM}{}: {}{DIM:#}\n", requirement.level.as_str(), meaning(requirement.level))?;
    paragraph(out, &requirement.text)?;
    if requirement.party == Party::Client {
        paragraph(
            out,
            "This requirement is about clients. A run does not judge it; `conform judge` judges it in recorded traffic.",
        )?;
    }
    let section = &requirement.section;
    writeln!(out, "\n{BOLD}Section \"{section}\" of the specification{BOLD:#}")?;
    explanation.statements.iter().try_for_each(|gist| paragraph(out, &format!("· {gist}")))?;
    let whose_choice = match requirement.party {
        Party::Server => "Choice of the reference server",
        Party::Client => "Choice of a server",
    };
    let parts = [
        ("Follows from", &requirement.from),
        ("Violations", &requirement.breaks),
        (whose_choice, &requirement.choice),
        ("Reason", &requirement.why),
    ];
    for (title, text) in parts {
        if let Some(text) = text {
            writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
            paragraph(out, text)?;
        }
    }
    if !explanation.exercised_by.is_empty() {
        writeln!(out, "\n{BOLD}Exercised by{BOLD:#}")?;
        paragraph(out, &explanation.exercised_by.join("; "))?;
    }
    if !explanation.near_misses.is_empty() {
        writeln!(out, "\n{BOLD}Near misses{BOLD:#}")?;
        for near_miss in explanation.near_misses.iter().take(NEAR_MISSES) {
            writeln!(out, "  {}\n    {DIM}{}{DIM:#}", at_most(&near_miss.request, WIDTH - 2), near_miss.reader)?;
        }
        let others = explanation.near_misses.len().saturating_sub(NEAR_MISSES);
        if others > 0 {
            writeln!(
                out,
                "  {DIM}and {others} others: `conform rules {} --format json` has all{DIM:#}",
                requirement.id
            )?;
        }
    }
    if requirement.id == "quota.not-exceeded" {
        writeln!(out, "\n{BOLD}How requests are counted{BOLD:#}")?;
        WORKED_TRACE.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    if explanation.example.is_empty() {
        return writeln!(out, "\n{DIM}This choice cannot be observed over HTTP.{DIM:#}");
    }
    let title = if requirement.level == Level::Open { "Example, as the reference server responds" } else { "Example" };
    writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
    for exchange in &explanation.example {
        writeln!(out, "  $ {}", exchange.curl)?;
        let Some(response) = &exchange.response else { continue };
        let reason = hyper::StatusCode::from_u16(response.status).ok().and_then(|status| status.canonical_reason());
        writeln!(out, "  {DIM}HTTP/1.1 {} {}{DIM:#}", response.status, reason.unwrap_or_default())?;
        for (name, value) in &response.headers {
            writeln!(out, "  {DIM}{name}: {value}{DIM:#}")?;
        }
        writeln!(out, "\n  {}\n", response.body.text)?;
    }
    Ok(())
}

fn meaning(level: Level) -> &'static str {
    match level {
        Level::Stated => "stated in the specification; breaking it is a violation",
        Level::Inferred => {
            "follows from the specification and HTTP; breaking it is a warning, with --strict a violation"
        }
        Level::Open => "left open by the specification; the choice is recorded and cannot fail",
    }
}

/// Running text, indented and broken between words.
fn paragraph(out: &mut String, text: &str) -> std::fmt::Result {
    wrap(text, WIDTH - 2).iter().try_for_each(|line| writeln!(out, "  {line}"))
}
