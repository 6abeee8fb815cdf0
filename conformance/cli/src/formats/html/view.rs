//! The data of the page, in its order. Everything is read from the report; nothing is judged.

use std::collections::BTreeMap;

use askama::Template;

use super::super::specification;
use super::labels::{self, date_and_time, seconds, times};
use super::requests::{self, Requests};
use super::timeline::{self, Chart};
use super::{SCRIPT, STYLE, body};
use animal_store_conformance::layout::{capitalized, counted};
use animal_store_conformance::report::{
    Choice, Evidence, LimitsShown, Outcome, Report, ReportedExchange, RequirementReport,
};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::{Status, Verdict};

/// The levels, in the order of their weight.
const LEVELS: [Level; 3] = [Level::Stated, Level::Inferred, Level::Open];

/// The whole page.
#[derive(Template)]
#[template(path = "report/page.html", whitespace = "minimize")]
pub(super) struct Page<'r> {
    report: &'r Report,
    policy: String,
    /// The page about the specification: its address, if the project has one, and its file.
    specification: (Option<String>, &'static str),
    style: &'static str,
    script: &'static str,
    verdict: String,
    sentence: String,
    facts: Vec<(&'static str, String)>,
    bars: Vec<Bar>,
    causes: Vec<CausedBy<'r>>,
    findings: Vec<&'r RequirementReport>,
    sections: Vec<Section<'r>>,
    marks: Vec<(Mark, usize)>,
    levels: Vec<(Level, usize)>,
    charts: Vec<Chart>,
    requests: Requests<'r>,
}

impl<'r> Page<'r> {
    /// The page of a report.
    pub(super) fn new(report: &'r Report) -> Page<'r> {
        let all = &report.requirements;
        let marks = Mark::ALL.map(|mark| (mark, all.iter().filter(|r| Mark::of(r) == mark).count()));
        let levels = LEVELS.map(|level| (level, all.iter().filter(|r| r.level == level).count()));
        let mut findings = report.to_fix();
        let causes = caused(report, &mut findings);
        Page {
            report,
            specification: (specification::page(), specification::FILE),
            policy: super::policy(),
            style: STYLE,
            script: SCRIPT,
            verdict: capitalized(report.verdict.as_str()),
            sentence: sentence(report),
            facts: facts(report),
            bars: LEVELS.into_iter().filter_map(|level| Bar::new(report, level)).collect(),
            causes,
            findings,
            sections: sections(report),
            marks: marks.into_iter().filter(|(_, count)| *count > 0).collect(),
            levels: levels.into_iter().filter(|(_, count)| *count > 0).collect(),
            charts: timeline::charts(&report.timeline),
            requests: requests::listed(report),
        }
    }
}

impl Page<'_> {
    /// The choices that were not observed.
    fn unseen(&self) -> Vec<&Choice> {
        self.report.gap_profile.iter().filter(|choice| choice.observed.is_none()).collect()
    }
}

/// The result of a requirement, as the page marks it: by a shape and a word, and by a colour that repeats them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mark {
    /// The requirement was broken, which is a violation.
    Broken,
    /// The requirement was broken, which is a warning.
    Warning,
    /// The requirement is known to fail.
    Known,
    /// The requirement was not exercised.
    Unjudged,
    /// The requirement held.
    Held,
    /// The requirement is open.
    Choice,
    /// The requirement was not selected.
    LeftOut,
}

impl Mark {
    const ALL: [Mark; 7] =
        [Mark::Broken, Mark::Warning, Mark::Known, Mark::Unjudged, Mark::Held, Mark::Choice, Mark::LeftOut];

    /// The mark of a requirement.
    pub(super) fn of(requirement: &RequirementReport) -> Mark {
        match requirement.outcome() {
            Outcome::Violated | Outcome::StaleKnownFailing => Mark::Broken,
            Outcome::Warning => Mark::Warning,
            Outcome::KnownFailing => Mark::Known,
            Outcome::Held => Mark::Held,
            Outcome::Open => Mark::Choice,
            Outcome::NotSelected => Mark::LeftOut,
            _ => Mark::Unjudged,
        }
    }

    /// The names of the mark in the page's markup and in its text.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Mark::Broken => ("broken", "Broken"),
            Mark::Warning => ("warning", "Warning"),
            Mark::Known => ("known", "Known to fail"),
            Mark::Unjudged => ("unjudged", "Not exercised"),
            Mark::Held => ("held", "Held"),
            Mark::Choice => ("choice", "Open choice"),
            Mark::LeftOut => ("left-out", "Not selected"),
        }
    }

    /// The name of the mark in the page's markup.
    pub(super) fn slug(self) -> &'static str {
        self.names().0
    }

    /// The name of the mark in the page's text.
    pub(super) fn word(self) -> &'static str {
        self.names().1
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

/// A requirement with its mark.
pub(super) struct Row<'r> {
    requirement: &'r RequirementReport,
    mark: Mark,
    /// A summary of the requirement's result.
    outcome: String,
    proofs: Vec<Proof<'r>>,
}

/// The findings that have a likely cause in common.
pub(super) struct CausedBy<'r> {
    sentence: &'r str,
    findings: Vec<&'r RequirementReport>,
}

/// Takes the findings that a likely cause explains out of the others, and groups them by cause.
fn caused<'r>(report: &'r Report, findings: &mut Vec<&'r RequirementReport>) -> Vec<CausedBy<'r>> {
    let mut take = |ids: &[String]| findings.extract_if(.., |finding| ids.contains(&finding.id)).collect::<Vec<_>>();
    let causes = report.causes.iter();
    let causes = causes.map(|cause| CausedBy { sentence: &cause.sentence, findings: take(&cause.requirements) });
    causes.filter(|cause| !cause.findings.is_empty()).collect()
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

fn sections(report: &Report) -> Vec<Section<'_>> {
    let mut shown = BTreeMap::new();
    let mut sections = Vec::new();
    for requirements in report.requirements.chunk_by(|one, next| one.section == next.section) {
        let mut rows = Vec::new();
        for requirement in requirements {
            let mark = Mark::of(requirement);
            let proofs = proofs(report, requirement, &mut shown);
            rows.push(Row { requirement, mark, outcome: outcome(requirement, mark), proofs });
        }
        let name = &requirements[0].section;
        sections.push(Section { name, slug: slug(name), tally: tally(&rows), rows });
    }
    sections
}

/// The evidence of a requirement. Its first exchange is always shown in full, and every other exchange once on the page: `shown` maps the
/// number of an exchange to the requirement that shows it.
fn proofs<'r>(
    report: &Report,
    requirement: &'r RequirementReport,
    shown: &mut BTreeMap<usize, &'r str>,
) -> Vec<Proof<'r>> {
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
    proofs
}

fn slug(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("section-{}", words.join("-").to_ascii_lowercase())
}

/// The number of selected requirements that are broken, or else of those that held.
fn tally(rows: &[Row]) -> String {
    let count = |mark: Mark| rows.iter().filter(|row| row.mark == mark).count();
    let judgeable = rows.iter().filter(|row| !matches!(row.mark, Mark::Choice | Mark::LeftOut)).count();
    match (count(Mark::Broken) + count(Mark::Warning), judgeable) {
        (0, 0) if count(Mark::Choice) > 0 => "open".to_owned(),
        (0, 0) => "not selected".to_owned(),
        (0, all) => format!("{} of {all} held", count(Mark::Held)),
        (broken, all) => format!("{broken} of {all} broken"),
    }
}

fn outcome(requirement: &RequirementReport, mark: Mark) -> String {
    let RequirementReport { failures, judged, .. } = requirement;
    let share = match judged.max(failures) {
        1 => "once".to_owned(),
        all => format!("{failures} of {all} times"),
    };
    match mark {
        Mark::Broken if requirement.status == Status::StaleKnownFailing => {
            format!("expired known failure, broken {share}")
        }
        Mark::Known if *failures == 0 => "hidden by a known failure".to_owned(),
        Mark::Broken | Mark::Warning => format!("broken {share}"),
        Mark::Known => format!("known to fail, {share}"),
        Mark::Unjudged => "not exercised".to_owned(),
        Mark::Held => format!("held {}", times(*judged)),
        Mark::Choice if requirement.observed.is_some() => "choice recorded".to_owned(),
        Mark::Choice => "not observed".to_owned(),
        Mark::LeftOut => "not selected".to_owned(),
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
    mark: Mark,
    /// The name of the result.
    word: &'static str,
    count: usize,
    x: usize,
    width: usize,
}

impl Bar {
    fn new(report: &Report, level: Level) -> Option<Bar> {
        let of_level: Vec<&RequirementReport> =
            report.requirements.iter().filter(|r| r.level == level && r.selected).collect();
        let seen = of_level.iter().filter(|r| r.observed.is_some()).count();
        let total = of_level.len();
        let counts: Vec<(Mark, &'static str, usize)> = if level == Level::Open {
            vec![(Mark::Choice, "recorded", seen), (Mark::Unjudged, "not observed", total - seen)]
        } else {
            [
                (Mark::Held, "held"),
                (Mark::Broken, "broken"),
                (Mark::Warning, "warning"),
                (Mark::Known, "known to fail"),
                (Mark::Unjudged, "not exercised"),
            ]
            .map(|(mark, word)| (mark, word, of_level.iter().filter(|r| Mark::of(r) == mark).count()))
            .to_vec()
        };
        let mut before = 0;
        let parts = counts.into_iter().filter(|(_, _, count)| *count > 0).map(|(mark, word, count)| {
            let x = before * 1000 / total;
            before += count;
            Part { mark, word, count, x, width: before * 1000 / total - x }
        });
        let parts: Vec<Part> = parts.collect();
        (total > 0).then_some(Bar { level, total, parts })
    }
}

fn sentence(report: &Report) -> String {
    let selected = |r: &&RequirementReport| r.selected && r.level == Level::Stated;
    let stated = report.requirements.iter().filter(selected).count();
    let all = report.requirements.iter().filter(|r| r.level == Level::Stated).count();
    let unjudged = report.requirements.iter().filter(selected).filter(|r| r.status == Status::NotExercised).count();
    let violations = report.requirements.iter().filter(|r| r.violation).count();
    let of_stated = |count: usize| format!("{count} of {}", counted(stated, "stated requirement"));
    let violated = if violations == 1 { "requirement is violated" } else { "requirements are violated" };
    match report.verdict {
        Verdict::Conforms if stated == 0 => "No stated requirement was selected, and no other is violated.".to_owned(),
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

fn facts(report: &Report) -> Vec<(&'static str, String)> {
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
