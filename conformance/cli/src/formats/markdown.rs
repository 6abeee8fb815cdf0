//! The report as GitHub-flavoured Markdown: for a job summary, or a comment.
//!
//! Text of the candidate is within `<code>` or a fenced block, with every character that is special in Markdown or HTML as an entity: it
//! can neither end the block, nor add a table, nor mention a user.

use std::fmt::Write;

use animal_store_conformance::layout::{at_most, capitalized};
use animal_store_conformance::report::{Evidence, Outcome, PARTLY_SEEN, Report, RequirementReport, Tally};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

/// The maximum size of the text with the details of failures, in bytes. GitHub rejects a job summary above 1 MiB.
const MOST_DETAILS: usize = 768 * 1024;

/// The maximum length of a text in bytes.
const LONGEST: usize = 2_000;

/// The maximum length of a command in bytes. A longer command is omitted, because it would not run if it were truncated.
const LONGEST_COMMAND: usize = 8_000;

/// The meaning of the levels, explained where they first appear.
const LEVELS: &str = "A **stated** requirement is in the specification: breaking it is a violation. An **inferred** one follows from the \
                      specification together with HTTP: breaking it is a warning, or a violation with `--strict`. An **open** one is a choice: \
                      it cannot be broken.";

/// The report for a job summary.
#[must_use]
pub fn render(report: &Report) -> String {
    super::written(|out| write_report(out, report))
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "## {}: {}\n", capitalized(&report.verdict_shown()), code(&report.subject()))?;
    writeln!(out, "{}.\n", report.counts())?;
    let plan = report.target.plan.as_ref().map_or_else(String::new, |plan| format!(", plan {}", text(plan)));
    let strict = if report.strict { ", strict" } else { "" };
    let scope = format!("profile {}{}{plan}{strict}", report.profile.as_str(), report.side_judged());
    writeln!(out, "{}; {scope}, seed {}.", report.cost(), report.seed)?;
    if let Some(reason) = &report.ended_early {
        writeln!(out, "\n> The run ended early: {}", text(reason))?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "\n> Note: {}", text(note)))?;

    let causes = report.causes.iter();
    let causes = causes.map(|cause| format!("{}: {}", text(&cause.sentence), codes(&cause.requirements)));
    list(out, "Likely causes", causes)?;
    let is_known = |r: &RequirementReport| r.selected && r.status == Status::KnownFailing;
    details(out, report, "Violations", |requirement| requirement.violation)?;
    details(out, report, "Warnings", RequirementReport::is_warning)?;
    details(out, report, "Known to fail", is_known)?;
    let partly = report.partly_seen().map(|(id, unseen)| format!("{}: {}", code(id), text(unseen)));
    list(out, PARTLY_SEEN, partly)?;
    let gaps = report.gaps_by_reason().into_iter();
    list(out, "Not exercised", gaps.map(|(reason, ids)| format!("{}: {}", text(reason), codes(&ids))))?;
    let keys = report.counting.iter();
    let keys = keys.map(|counting| format!("{} key: {}", counting.key.as_str(), text(&counting.sentence())));
    list(out, "Counting of requests", keys)?;
    replicas(out, report)?;
    sections(out, report)?;
    choices(out, report)?;
    identity(out, report)
}

fn identity(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "\n### Implementation and judge\n\n| | |\n|---|---|")?;
    report.identity().iter().try_for_each(|(name, value)| writeln!(out, "| {name} | {} |", code(value)))?;
    match super::specification::page() {
        Some(address) => writeln!(out, "\n[The API in the words of this project]({address})"),
        None => {
            let file = code(super::specification::FILE);
            writeln!(out, "\nThe API in the words of this project: {file} in the repository of the judge")
        }
    }
}

/// A section with a list, unless the list is empty.
fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) -> std::fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_some() {
        writeln!(out, "\n### {title}\n")?;
    }
    items.try_for_each(|item| writeln!(out, "- {item}"))
}

fn details(
    out: &mut String,
    report: &Report,
    title: &str,
    wanted: impl Fn(&RequirementReport) -> bool,
) -> std::fmt::Result {
    // The order in which to fix them, followed by the known failures.
    let known = report.requirements.iter().filter(|r| r.status == Status::KnownFailing);
    let broken: Vec<&RequirementReport> = report.to_fix().into_iter().chain(known).filter(|r| wanted(r)).collect();
    if broken.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### {title}")?;
    if !out.contains(LEVELS) {
        writeln!(out, "\n{LEVELS}")?;
    }
    for (done, requirement) in broken.iter().enumerate() {
        let block = block(report, requirement)?;
        if out.len() + block.len() > MOST_DETAILS {
            return writeln!(out, "\nand {} more, omitted for length.", broken.len() - done);
        }
        out.push_str(&block);
    }
    Ok(())
}

fn block(report: &Report, requirement: &RequirementReport) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let title = text(&requirement.title);
    writeln!(out, "\n<details><summary>{} {title}</summary>\n", code(&requirement.id))?;
    let level = requirement.level.as_str();
    let confidence = requirement.confidence().map_or_else(String::new, |confidence| format!(", {confidence}"));
    writeln!(out, "{}, {level}{confidence}. {}", text(&requirement.section), text(&requirement.text))?;
    if let Some(reason) = &requirement.reason {
        writeln!(out, "\n{}", code(reason))?;
    }
    if let Some(cause) = report.cause_of(&requirement.id) {
        writeln!(out, "\nLikely cause: {}.", text(&cause.sentence))?;
    }
    requirement.evidence.iter().try_for_each(|evidence| finding(&mut out, report, requirement, evidence))?;
    if requirement.further_failures() > 0 {
        writeln!(out, "\nand {} more", requirement.further_failures())?;
    }
    writeln!(out, "\n</details>")?;
    Ok(out)
}

fn finding(
    out: &mut String,
    report: &Report,
    requirement: &RequirementReport,
    evidence: &Evidence,
) -> std::fmt::Result {
    writeln!(out, "\n- expected {}", code(&evidence.expected))?;
    writeln!(out, "- found {}", code(&evidence.finding()))?;
    if requirement.concerns_limits() {
        let shown = evidence.limits_shown(report);
        shown.iter().try_for_each(|shown| writeln!(out, "- exchange {}", code(&shown.to_string())))?;
    }
    let Some(exchange) = evidence.exchanges.first() else { return Ok(()) };
    if exchange.curl.len() > LONGEST_COMMAND {
        return writeln!(out, "- the request is too long to show");
    }
    let fence = fence(&exchange.curl);
    writeln!(out, "\n{fence}sh\n{}\n{fence}", exchange.curl)
}

fn replicas(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.replicas.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### Replicas\n")?;
    writeln!(out, "| address | requests | lag | rate limit | findings |\n|---|--:|---|---|---|")?;
    report.replicas.iter().try_for_each(|replica| {
        let (lag, counter) = (text(&replica.lag_shown()), text(&replica.counter_shown(report)));
        let (address, findings) = (code(&replica.base_url), text(&replica.findings_shown()));
        writeln!(out, "| {address} | {} | {lag} | {counter} | {findings} |", replica.requests)
    })
}

fn sections(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "\n<details><summary>Results by section of the specification</summary>\n")?;
    writeln!(out, "| section | held | broken | warnings | not exercised |\n|---|--:|--:|--:|--:|")?;
    for section in report.outline() {
        let mut can_fail = section.requirements.iter().copied().filter(|r| r.level != Level::Open).peekable();
        if can_fail.peek().is_none() {
            continue;
        }
        let tally: Tally = can_fail.collect();
        let held = tally.count(&[Outcome::Held]);
        let broken = tally.count(&[Outcome::Violated, Outcome::StaleKnownFailing]);
        let (warnings, missed) =
            (tally.count(&[Outcome::Warning]), tally.count(&[Outcome::Gap, Outcome::NotExercised]));
        writeln!(out, "| {} | {held} | {broken} | {warnings} | {missed} |", text(section.name))?;
    }
    writeln!(out, "\n</details>")
}

fn choices(out: &mut String, report: &Report) -> std::fmt::Result {
    let observed: Vec<(&str, &str, &str)> = report
        .gap_profile
        .iter()
        .filter_map(|choice| Some((choice.id.as_str(), choice.title.as_str(), choice.observed.as_deref()?)))
        .collect();
    if observed.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n<details><summary>Open choices</summary>\n")?;
    writeln!(out, "| requirement | question | choice |\n|---|---|---|")?;
    for (id, title, choice) in observed {
        writeln!(out, "| {} | {} | {} |", code(id), text(title), code(choice))?;
    }
    writeln!(out, "\n</details>")
}

/// A text escaped for Markdown and HTML, in one line. It is for the middle of a line, where fewer characters are special than
/// at its start.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in at_most(text, LONGEST).chars() {
        match c {
            '\n' => out.push(' '),
            c if c.is_ascii_punctuation() && !".,;()?%-/=+'\"{}".contains(c) => {
                out.push_str(&format!("&#{};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    // The only autolink without a special character.
    out.replace("www.", "www&#46;")
}

/// The text in a code span.
pub(crate) fn code(shown: &str) -> String {
    format!("<code>{}</code>", text(shown))
}

/// Each text in a code span.
fn codes(texts: &[impl AsRef<str>]) -> String {
    texts.iter().map(|text| code(text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A fence that no line of the text can close.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_in_text_are_escaped() {
        assert_eq!(text("a|b `c` @d\n<e>"), "a&#124;b &#96;c&#96; &#64;d &#60;e&#62;");
        assert_eq!(text("http://x www.y [z](q)"), "http&#58;//x www&#46;y &#91;z&#93;(q)");
        assert!(text(&"x".repeat(10_000)).len() < LONGEST + 10);
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!((fence("a").as_str(), fence("``` ````").as_str()), ("```", "`````"));
    }
}
