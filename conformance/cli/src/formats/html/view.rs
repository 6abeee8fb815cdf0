//! The data of the page, in its order. Everything is read from the report; nothing is judged.

use std::collections::BTreeMap;

use askama::Template;

use super::super::specification;
use super::labels::{self, date_and_time, seconds, times};
use super::timeline;
use animal_store_conformance::layout::{at_most, counted};
use animal_store_conformance::report::{
    Evidence, LimitsShown, Outcome, Report, ReportedExchange, RequirementReport, Tally,
};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::Verdict;

/// The maximum number of requests listed; the HAR report contains all.
const MAX_LISTED: usize = 300;

/// The maximum length of a listed request body in bytes.
const MAX_SENT: usize = 96;

/// The whole page.
#[derive(Template)]
#[template(path = "report/page.html", whitespace = "minimize")]
pub(super) struct Page<'r> {
    report: &'r Report,
    causes: Vec<CausedBy<'r>>,
    findings: Vec<&'r RequirementReport>,
    sections: Vec<Section<'r>>,
}

impl<'r> Page<'r> {
    /// The page of a report. Findings that a likely cause explains are grouped by cause.
    pub(super) fn new(report: &'r Report) -> Page<'r> {
        let (mut causes, mut findings) = (Vec::new(), report.to_fix());
        for cause in &report.causes {
            let is_explained = |finding: &mut &RequirementReport| cause.requirements.iter().any(|id| *id == finding.id);
            let findings = findings.extract_if(.., is_explained).collect();
            causes.push(CausedBy { sentence: &cause.sentence, findings });
        }
        causes.retain(|cause| !cause.findings.is_empty());
        Page { report, causes, findings, sections: sections(report) }
    }
}

impl Page<'_> {
    /// The number of requirements with each result.
    fn outcomes(&self) -> Vec<(Outcome, usize)> {
        let tally: Tally = self.report.requirements.iter().collect();
        let counts = Outcome::ALL.map(|outcome| (outcome, tally.count(&[outcome])));
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// The number of requirements of each level.
    fn levels(&self) -> Vec<(Level, usize)> {
        let count = |level| self.report.requirements.iter().filter(|requirement| requirement.level == level).count();
        Level::ALL.map(|level| (level, count(level))).into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// A bar for each level that has selected requirements.
    fn bars(&self) -> Vec<Bar> {
        let mut bars = Vec::new();
        for level in Level::ALL {
            let of_level = self.report.requirements.iter().filter(|r| r.level == level && r.selected);
            let tally: Tally = of_level.clone().collect();
            let total = tally.selected();
            let counts = if level == Level::Open {
                let seen = of_level.filter(|requirement| requirement.observed.is_some()).count();
                vec![(Outcome::Open, "recorded", seen), (Outcome::NotExercised, "not observed", total - seen)]
            } else {
                let mut outcomes = Outcome::ALL;
                outcomes.sort_by_key(|outcome| *outcome != Outcome::Held);
                outcomes.map(|outcome| (outcome, outcome.word(), tally.count(&[outcome]))).to_vec()
            };
            let (mut parts, mut before) = (Vec::new(), 0);
            for (outcome, word, count) in counts.into_iter().filter(|(_, _, count)| *count > 0) {
                let x = before * 1000 / total;
                before += count;
                parts.push(Part { outcome, word, count, x, width: before * 1000 / total - x });
            }
            bars.push(Bar { level, total, parts });
        }
        bars.retain(|bar| bar.total > 0);
        bars
    }

    /// The verdict in a sentence.
    fn sentence(&self) -> String {
        let report = self.report;
        let tally = report.tally(Level::Stated);
        let (stated, all) = (tally.selected(), tally.count(&Outcome::ALL));
        let unjudged = tally.count(&[Outcome::Gap, Outcome::NotExercised]);
        let violations = report.requirements.iter().filter(|r| r.violation).count();
        let of_stated = |count: usize| format!("{count} of {}", counted(stated, "stated requirement"));
        let violated = if violations == 1 { "requirement is violated" } else { "requirements are violated" };
        match report.verdict {
            Verdict::Conforms if stated == 0 => {
                "No stated requirement was selected, and no other is violated.".to_owned()
            }
            Verdict::Conforms if stated < all => {
                format!("All {stated} selected of the {all} stated requirements were exercised and held.")
            }
            Verdict::Conforms => format!("All {stated} stated requirements were exercised and held."),
            Verdict::Incomplete if unjudged == 0 => {
                format!("Nothing is violated, but the run did not send everything: {}.", report.unfinished.join(", "))
            }
            Verdict::Incomplete => {
                format!("No requirement is violated, but {} not exercised.", of_stated(unjudged))
            }
            Verdict::Violates if unjudged > 0 => {
                format!("{violations} {violated}, and {} not exercised.", of_stated(unjudged))
            }
            Verdict::Violates => format!("{violations} {violated}."),
        }
    }

    /// The facts about the run, as names and values.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let report = self.report;
        let mut facts = vec![
            ("Requests", report.requests.to_string()),
            ("Refused with 429", report.refused.to_string()),
            ("Animals created", report.created.to_string()),
            ("Duration", seconds(report.duration_ms as f64 / 1000.0)),
            ("Profile", report.profile.as_str().to_owned()),
        ];
        if report.side != Side::Server {
            facts.push(("Side judged", report.side.as_str().to_owned()));
        }
        facts.extend(report.target.plan.iter().map(|plan| ("Plan", plan.clone())));
        facts.push(("Seed", report.seed.to_string()));
        facts.push(("Strict", if report.strict { "yes" } else { "no" }.to_owned()));
        facts.extend(report.started_at.iter().map(|time| ("Started", date_and_time(time))));
        facts
    }
}

/// A section of the specification and its requirements.
pub(super) struct Section<'r> {
    name: &'r str,
    /// The fragment of the section in the page's address.
    slug: String,
    rows: Vec<Row<'r>>,
    /// A summary of the results in the section.
    tally: String,
}

/// A requirement with its evidence.
pub(super) struct Row<'r> {
    requirement: &'r RequirementReport,
    /// A summary of the requirement's result.
    result: String,
    proofs: Vec<Proof<'r>>,
}

/// The findings that have a likely cause in common.
pub(super) struct CausedBy<'r> {
    sentence: &'r str,
    findings: Vec<&'r RequirementReport>,
}

/// Failures of a requirement of one kind, and the exchanges that show an example.
pub(super) struct Proof<'r> {
    evidence: &'r Evidence,
    /// The rate limit as the exchanges show it, if the finding is about limits.
    limits: Vec<LimitsShown>,
    exchanges: Vec<Shown<'r>>,
}

/// An exchange at one place of the page.
pub(super) struct Shown<'r> {
    exchange: &'r ReportedExchange,
    /// The requirement under which the exchange is already shown in full; this place links to it.
    under: Option<&'r str>,
    /// Whether other places link to this one.
    is_first: bool,
    /// Whether the exchange is open initially.
    is_open: bool,
}

/// The sections with the evidence of their requirements. The first exchange of a requirement is always shown in full, and every other
/// exchange once on the page.
fn sections(report: &Report) -> Vec<Section<'_>> {
    // The requirement that shows the exchange of a number.
    let mut shown: BTreeMap<usize, &str> = BTreeMap::new();
    let mut sections = Vec::new();
    for section in report.outline() {
        let tally = tally(&section.requirements.iter().copied().collect());
        let mut rows = Vec::new();
        for requirement in section.requirements {
            // A finding about limits shows in the table of the limits, and not in the bodies of its exchanges.
            let mut is_open = !requirement.concerns_limits();
            let mut proofs = Vec::new();
            for evidence in &requirement.evidence {
                let limits = if requirement.concerns_limits() { evidence.limits_shown(report) } else { Vec::new() };
                let mut exchanges = Vec::new();
                for exchange in &evidence.exchanges {
                    let before = shown.get(&exchange.number).copied();
                    shown.entry(exchange.number).or_insert(&requirement.id);
                    let under = before.filter(|_| !is_open);
                    let is_first = before.is_none();
                    exchanges.push(Shown { exchange, under, is_first, is_open: std::mem::take(&mut is_open) });
                }
                proofs.push(Proof { evidence, limits, exchanges });
            }
            rows.push(Row { requirement, result: result(requirement), proofs });
        }
        let words = section.name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let slug = format!("section-{}", words.collect::<Vec<_>>().join("-").to_ascii_lowercase());
        sections.push(Section { name: section.name, slug, tally, rows });
    }
    sections
}

/// The number of selected requirements that are broken, or else of those that held.
fn tally(tally: &Tally) -> String {
    let open = tally.count(&[Outcome::Open]);
    let broken = tally.count(&[Outcome::Violated, Outcome::StaleKnownFailing, Outcome::Warning]);
    match (broken, tally.selected() - open) {
        (0, 0) if open > 0 => "open".to_owned(),
        (0, 0) => "not selected".to_owned(),
        (0, all) => format!("{} of {all} held", tally.count(&[Outcome::Held])),
        (broken, all) => format!("{broken} of {all} broken"),
    }
}

fn result(requirement: &RequirementReport) -> String {
    let RequirementReport { failures, judged, .. } = requirement;
    let share = match judged.max(failures) {
        1 => "once".to_owned(),
        all => format!("{failures} of {all} times"),
    };
    match requirement.outcome() {
        Outcome::StaleKnownFailing => format!("expired known failure, broken {share}"),
        Outcome::KnownFailing if *failures == 0 => "hidden by a known failure".to_owned(),
        Outcome::Violated | Outcome::Warning => format!("broken {share}"),
        Outcome::KnownFailing => format!("known to fail, {share}"),
        Outcome::Gap | Outcome::NotExercised => "not exercised".to_owned(),
        Outcome::Held => format!("held {}", times(*judged)),
        Outcome::Open if requirement.observed.is_some() => "choice recorded".to_owned(),
        Outcome::Open => "not observed".to_owned(),
        _ => "not selected".to_owned(),
    }
}

/// The results of the selected requirements of a level, drawn as a bar.
pub(super) struct Bar {
    level: Level,
    total: usize,
    parts: Vec<Part>,
}

/// A part of a bar. Place and width are in thousandths of the bar.
pub(super) struct Part {
    outcome: Outcome,
    /// The name of the result.
    word: &'static str,
    count: usize,
    x: usize,
    width: usize,
}
