//! Everything but failures: gaps of the run, known failures, choices, and the results of each section.

use super::page::{BOLD, DIM, PLAIN, Page, RED, YELLOW};
use super::{Detail, failures, mark};
use crate::layout::{cut, width};
use crate::report::PARTLY_SEEN;
use crate::report::{Choice, Outcome, Report, RequirementReport, Tally};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::Status;

/// The stated requirements that were not exercised, by reason.
pub(super) fn not_exercised(page: &mut Page, report: &Report) {
    page.list((YELLOW, "Not exercised"), report.gaps_by_reason(), |page, (reason, ids)| {
        page.entry(2, ("?", YELLOW), (&format!("{reason}:"), PLAIN));
        page.text(5, DIM, &ids.join(", "));
    });
}

/// The known failures.
pub(super) fn known_failing(page: &mut Page, report: &Report, detail: Detail) {
    let known = report.requirements.iter().filter(|requirement| requirement.status == Status::KnownFailing);
    page.list((YELLOW, "Known to fail"), known, |page, requirement| {
        if detail == Detail::Verbose {
            failures::failure(page, report, requirement, YELLOW, detail);
        } else {
            let reason = requirement.reason.as_deref().unwrap_or_default();
            page.entry(2, (&format!("~ {}", requirement.id), YELLOW), (reason, DIM));
        }
    });
}

/// The open choices. A choice that was not observed is shown only with `-v`.
pub(super) fn choices(page: &mut Page, report: &Report, detail: Detail) {
    let is_shown = |choice: &&Choice| choice.observed.is_some() || detail == Detail::Verbose;
    let choices: Vec<&Choice> = report.gap_profile.iter().filter(is_shown).collect();
    let whose = match report.side {
        Side::Server => "of the server",
        Side::Client => "of the clients",
        Side::Both => "of the server and its clients",
    };
    let widest = choices.iter().map(|choice| width(&choice.id)).max().unwrap_or(0);
    page.list((BOLD, &format!("Open choices {whose}")), choices, |page, choice| {
        let observed = choice.observed.as_deref().unwrap_or("not observed").replace('\n', " ");
        let head = format!("· {:widest$}", choice.id);
        page.entry(2, (&head, PLAIN), (&format!("{}: {observed}", choice.title), DIM));
    });
}

/// A line for each section, with the worst outcome and the number of its requirements that held.
pub(super) fn sections(page: &mut Page, report: &Report) {
    let outline = report.outline();
    let widest = outline.iter().map(|section| width(section.name)).max().unwrap_or(0);
    let mut rows = Vec::new();
    for section in outline {
        let can_fail = section.requirements.iter().copied().filter(|r| r.selected && r.level != Level::Open);
        let Some(worst) = can_fail.clone().map(RequirementReport::outcome).min() else { continue };
        let mut counts = Vec::new();
        for level in [Level::Stated, Level::Inferred] {
            let tally: Tally = can_fail.clone().filter(|requirement| requirement.level == level).collect();
            if tally.selected() > 0 {
                let held = tally.count(&[Outcome::Held]);
                counts.push(format!("{held} of {} {}", tally.selected(), level.as_str()));
            }
        }
        rows.push((section.name, worst, counts.join(", ")));
    }
    page.list((BOLD, "Results by section of the specification"), rows, |page, (name, worst, counts)| {
        let (mark, style) = mark(worst);
        page.entry(2, (&format!("{mark} {name:widest$}"), style), (&counts, DIM));
    });
}

/// The requirements that held, each with the part that could not be seen.
pub(super) fn partly_seen(page: &mut Page, report: &Report) {
    let partly = report.partly_seen();
    page.list((BOLD, PARTLY_SEEN), partly, |page, (id, unseen)| page.entry(2, (id, PLAIN), (unseen, DIM)));
}

/// A line for each requirement.
pub(super) fn requirements(page: &mut Page, report: &Report) {
    let widest = report.requirements.iter().map(|requirement| width(&requirement.id)).max().unwrap_or(0);
    for section in report.outline() {
        let can_fail = section.requirements.into_iter().filter(|r| r.selected && r.level != Level::Open);
        page.list((BOLD, section.name), can_fail, |page, requirement| {
            let (mark, style) = mark(requirement.outcome());
            let note = match requirement.status {
                Status::NotExercised => "not exercised".to_owned(),
                Status::Fail | Status::KnownFailing | Status::StaleKnownFailing if requirement.failures > 0 => {
                    format!("{} · {} of {} times", requirement.title, requirement.failures, requirement.judged)
                }
                _ => requirement.title.clone(),
            };
            let level = if requirement.level == Level::Inferred { " (inferred)" } else { "" };
            let confidence = requirement.confidence().map_or_else(String::new, |confidence| format!(" · {confidence}"));
            let head = format!("{mark} {:widest$}", requirement.id);
            page.entry(2, (&head, style), (&format!("{note}{level}{confidence}"), DIM));
        });
    }
}

/// The way of counting of each key.
pub(super) fn counting(page: &mut Page, report: &Report) {
    page.list((BOLD, "Counting of requests"), &report.counting, |page, counting| {
        page.text(2, PLAIN, &format!("{} key: {}", counting.key.as_str(), counting.sentence()));
    });
}

/// A table of the addresses of the service, if it has several.
pub(super) fn replicas(page: &mut Page, report: &Report) {
    let widest = report.replicas.iter().map(|replica| width(&replica.base_url)).max().unwrap_or(0);
    let digits = report.replicas.iter().map(|replica| replica.requests.to_string().len()).max().unwrap_or(0);
    page.list((BOLD, "Replicas"), &report.replicas, |page, replica| {
        let address = format!("{}{}", replica.base_url, " ".repeat(widest.saturating_sub(width(&replica.base_url))));
        let counts = format!("{:>digits$} requests, {}", replica.requests, replica.findings_shown());
        page.entry(2, (&address, PLAIN), (&counts, PLAIN));
        let observed = format!("lag: {}; rate limit: {}", replica.lag_shown(), replica.counter_shown(report));
        page.text(4, DIM, &observed);
    });
}

/// The likely causes, each with the requirements that it explains.
pub(super) fn causes(page: &mut Page, report: &Report) {
    page.list((BOLD, "Likely causes"), &report.causes, |page, cause| {
        page.entry(2, ("→", YELLOW), (&cause.sentence, PLAIN));
        page.text(5, DIM, &cause.requirements.join(", "));
    });
}

/// The broken requirements in a line each. They remain on the screen after a long report.
pub(super) fn recap(page: &mut Page, report: &Report) {
    let broken = report.to_fix();
    page.title(RED, "To fix, in this order");
    let widest = broken.iter().map(|requirement| width(&requirement.id)).max().unwrap_or(0);
    for requirement in broken {
        let (mark, style) = mark(requirement.outcome());
        let head = format!("{mark} {:widest$}  ", requirement.id);
        let room = page.room(2 + width(&head)).min(MAX_RECAP);
        page.verbatim(2, &format!("{style}{head}{style:#}{}", cut(&requirement.findings().replace('\n', " "), room)));
    }
}

/// The maximum length of a finding in the recap, in columns.
const MAX_RECAP: usize = 100;
