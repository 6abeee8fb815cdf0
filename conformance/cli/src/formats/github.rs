//! Annotations for GitHub Actions: workflow commands, which a step prints on standard output.
//!
//! A step shows ten errors and ten warnings and drops the rest, so no more are printed; the tenth counts the others.

use super::summary::{lines, sentence};
use animal_store_conformance::layout::at_most;
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::verdict::Status;

/// The maximum number of annotations of one kind that a step shows.
const MOST: usize = 10;

/// The maximum length of a message in bytes: GitHub cuts longer ones.
const LONGEST: usize = 4_000;

/// An annotation for each broken requirement, and one with the verdict.
pub fn render(report: &Report) -> String {
    let selected = |wanted: fn(&RequirementReport) -> bool| -> Vec<&RequirementReport> {
        report.requirements.iter().filter(|requirement| wanted(requirement)).collect()
    };
    let mut out = String::new();
    annotate(&mut out, report, "error", &selected(|requirement| requirement.violation));
    annotate(&mut out, report, "warning", &selected(|r| r.is_warning() || r.is_gap()));
    annotate(&mut out, report, "notice", &selected(|requirement| requirement.status == Status::KnownFailing));
    let causes: String = report.causes.iter().map(|cause| format!("\nlikely cause: {}", cause.sentence)).collect();
    let partly: String =
        report.partly_seen().map(|(id, unseen)| format!("\n{id} held, with limited evidence: {unseen}")).collect();
    let facts: String = report.identity().iter().map(|(name, value)| format!("\n{name}: {value}")).collect();
    let verdict = format!("{}{causes}{partly}\n{}, seed {}{facts}", report.headline(), report.cost(), report.seed);
    out.push_str(&command("notice", &report.subject(), &verdict));
    out
}

fn annotate(out: &mut String, report: &Report, kind: &str, requirements: &[&RequirementReport]) {
    // One annotation of this kind is reserved for the verdict.
    let most = if kind == "notice" { MOST - 1 } else { MOST };
    let shown = if requirements.len() > most { most - 1 } else { requirements.len() };
    for requirement in &requirements[..shown] {
        let title = format!("{}: {}", requirement.id, requirement.title);
        let message = match requirement.status {
            Status::NotExercised => format!("not exercised: {}", sentence(requirement)),
            _ => lines(report, requirement),
        };
        out.push_str(&command(kind, &title, &message));
    }
    if shown < requirements.len() {
        let rest: Vec<&str> = requirements[shown..].iter().map(|requirement| requirement.id.as_str()).collect();
        let title = format!("and {} more", rest.len());
        out.push_str(&command(kind, &title, &rest.join("\n")));
    }
}

/// `::error title=…::…`, in a line of its own.
fn command(kind: &str, title: &str, message: &str) -> String {
    format!("::{kind} title={}::{}\n", property(title), data(&at_most(message, LONGEST)))
}

/// Escapes a message for the runner.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property for the runner, which ends it at a comma or a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_and_separators_are_escaped() {
        assert_eq!(
            command("error", "a: b, 100%", "x\r\n::error::y, z: 100%0A"),
            "::error title=a%3A b%2C 100%25::x%0D%0A::error::y, z: 100%250A\n"
        );
    }
}
