//! The differences as text for a terminal: regressions first, no line longer than 80 columns.

use std::fmt::Write;

use super::{Change, Difference, Kind, Side};
use crate::formats::written;
use animal_store_conformance::layout;
use animal_store_conformance::redaction::{Printable, printable};
use animal_store_conformance::report::text::{BOLD, DIM, GREEN, RED, YELLOW};
use animal_store_rules::verdict::Status;

/// The maximum length of a line in columns.
const WIDTH: usize = 80;

/// The difference with ANSI colours; a stream that is no terminal strips them.
pub fn render(difference: &Difference) -> Printable {
    Printable::styled(&written(|out| write(out, difference)))
}

fn write(out: &mut String, difference: &Difference) -> std::fmt::Result {
    side(out, "A", &difference.before)?;
    side(out, "B", &difference.after)?;
    let id_width = difference.requirements.iter().map(|change| change.id.len()).max().unwrap_or(0);
    for (kind, title, mark, style) in [
        (Kind::Worse, "Worse", "✗", RED),
        (Kind::Changed, "Changed", "·", YELLOW),
        (Kind::Better, "Better", "✓", GREEN),
    ] {
        let changes: Vec<&Change> = difference.requirements.iter().filter(|change| change.kind == kind).collect();
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{style}{title}{style:#}")?;
        for change in changes {
            let (was, is) = (word(change.before), word(change.after));
            writeln!(out, "  {style}{mark}{style:#} {:id_width$}  {was} → {is}", change.id)?;
            let reason = change.reason.as_deref().unwrap_or(&change.title);
            writeln!(out, "      {DIM}{}{DIM:#}", line(reason, 6))?;
        }
    }
    if !difference.choices.is_empty() {
        writeln!(out, "\n{BOLD}Different choices{BOLD:#} {DIM}(the specification leaves them open){DIM:#}")?;
    }
    for choice in &difference.choices {
        writeln!(out, "  · {}  {DIM}{}{DIM:#}", choice.id, line(&choice.title, 6 + choice.id.len()))?;
        for (mut name, observed) in [("A", &choice.before), ("B", &choice.after)] {
            // Each word may come to the beginning of a line, where more characters are special.
            let words: Vec<String> = observed.split_whitespace().map(printable).collect();
            for part in layout::wrap(&words.join(" "), WIDTH - 9) {
                writeln!(out, "      {name}  {part}")?;
                name = " ";
            }
        }
    }
    let count = |kind: Kind| difference.requirements.iter().filter(|change| change.kind == kind).count();
    let (word, style) = if difference.regression { ("REGRESSION", RED) } else { ("NO REGRESSION", GREEN) };
    writeln!(
        out,
        "\n{style}{word}{style:#}  {} worse, {} better, {} changed; {} different choices",
        count(Kind::Worse),
        count(Kind::Better),
        count(Kind::Changed),
        difference.choices.len()
    )
}

fn side(out: &mut String, name: &str, side: &Side) -> std::fmt::Result {
    let about = format!(
        "{} · {} · profile {}",
        side.verdict.as_str(),
        side.started_at.map_or("nothing was sent".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
        side.profile.as_str()
    );
    writeln!(out, "{BOLD}{name}{BOLD:#}  {}\n   {DIM}{}{DIM:#}", line(&side.base_url, 3), line(&about, 3))
}

fn word(status: Option<Status>) -> &'static str {
    match status {
        None => "not selected",
        Some(Status::Pass) => "held",
        Some(Status::Fail) => "broken",
        Some(Status::KnownFailing) => "known to fail",
        Some(Status::StaleKnownFailing) => "expired known failure",
        Some(Status::NotExercised) => "not exercised",
        Some(Status::Observed) => "open",
    }
}

/// The text cut to the rest of a line, and made printable: the file may contain anything.
fn line(text: &str, used: usize) -> String {
    layout::cut(&printable(text).replace(['\n', '\t'], " "), WIDTH.saturating_sub(used))
}
