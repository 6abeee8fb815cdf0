//! The report as GitHub-flavoured Markdown: for a job summary, or a comment.
//!
//! Text of the candidate is within `<code>` or a fenced block, with every character that is special in Markdown or HTML as an entity: it
//! can neither end the block, nor add a table, nor mention a user.

use askama::Template;

use super::specification;
use animal_store_conformance::layout::{at_most, capitalized};
use animal_store_conformance::report::{Choice, Outcome, PARTLY_SEEN, Report, RequirementReport, Tally};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

/// The maximum size of the text with the details of failures, in bytes. GitHub rejects a job summary above 1 MiB.
const MOST_DETAILS: usize = 768 * 1024;

/// The maximum length of a text in bytes.
const LONGEST: usize = 2_000;

/// The maximum length of a command in bytes. A longer command is omitted, because it would not run if it were truncated.
const LONGEST_COMMAND: usize = 8_000;

/// The report for a job summary.
pub fn render(report: &Report) -> String {
    let (violations, warnings) = report.to_fix().into_iter().partition(|requirement| requirement.violation);
    let known = report.requirements.iter().filter(|r| r.selected && r.status == Status::KnownFailing).collect();
    let (mut details, mut length) = (Vec::new(), 0);
    for (title, requirements) in [("Violations", violations), ("Warnings", warnings), ("Known to fail", known)] {
        let requirements: Vec<&RequirementReport> = requirements;
        let mut blocks = Vec::new();
        for requirement in &requirements {
            let block = Broken { report, requirement }.render().unwrap_or_default();
            length += block.len();
            if length > MOST_DETAILS {
                break;
            }
            blocks.push(block);
        }
        let omitted = requirements.len() - blocks.len();
        details.push(Details { title, blocks, omitted });
    }
    details.retain(|details| !details.blocks.is_empty() || details.omitted > 0);
    let title = capitalized(&report.verdict_shown());
    // Every value is a string or a number, and writing to a String cannot fail.
    Page { title, report, details }.render().unwrap_or_default()
}

#[derive(Template)]
#[template(path = "report/markdown.md")]
struct Page<'r> {
    title: String,
    report: &'r Report,
    details: Vec<Details>,
}

/// The broken requirements of one kind.
struct Details {
    title: &'static str,
    blocks: Vec<String>,
    /// The number of requirements without a block, because the text would be too long.
    omitted: usize,
}

#[derive(Template)]
#[template(path = "report/broken.md")]
struct Broken<'r> {
    report: &'r Report,
    requirement: &'r RequirementReport,
}

impl Page<'_> {
    /// The sections with requirements that can fail: how many held, are broken, are warnings and were not exercised.
    fn sections(&self) -> Vec<(&str, [usize; 4])> {
        let mut sections = Vec::new();
        for section in self.report.outline() {
            let tally: Tally = section.requirements.into_iter().filter(|r| r.level != Level::Open).collect();
            if tally.count(&Outcome::ALL) > 0 {
                let columns = [
                    &[Outcome::Held][..],
                    &[Outcome::Violated, Outcome::StaleKnownFailing],
                    &[Outcome::Warning],
                    &[Outcome::Gap, Outcome::NotExercised],
                ];
                sections.push((section.name, columns.map(|outcomes| tally.count(outcomes))));
            }
        }
        sections
    }

    fn observed(&self) -> Vec<&Choice> {
        self.report.gap_profile.iter().filter(|choice| choice.observed.is_some()).collect()
    }
}

/// A text escaped for Markdown and HTML, in one line. It is for the middle of a line, where fewer characters are special than
/// at its start.
pub(crate) fn text(text: impl AsRef<str>) -> String {
    let mut out = String::new();
    for c in at_most(text.as_ref(), LONGEST).chars() {
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
pub(crate) fn code(shown: impl AsRef<str>) -> String {
    format!("<code>{}</code>", text(shown))
}

/// Each text in a code span.
fn codes(texts: &[impl AsRef<str>]) -> String {
    texts.iter().map(code).collect::<Vec<_>>().join(", ")
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
        assert!(text("x".repeat(10_000)).len() < LONGEST + 10);
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!((fence("a").as_str(), fence("``` ````").as_str()), ("```", "`````"));
    }
}
