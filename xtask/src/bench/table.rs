//! The rows and how they are printed.

use std::fmt::Write;

use super::stats::{Bound, Summary};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// How many times the yardstick.
    Ratio,
    /// Wall-clock time.
    Seconds,
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::Ratio => format!("{figure:.2}"),
            Unit::Seconds if figure >= 100.0 => format!("{figure:.0} s"),
            Unit::Seconds => format!("{figure:.2} s"),
        }
    }
}

/// One measured line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// The subject's own measurements, and those of its yardstick: rates a second.
    pub(crate) measured: Option<(Summary, Summary)>,
    pub(crate) figure: Summary,
    pub(crate) unit: Unit,
    pub(crate) bound: Bound,
    pub(crate) notes: Vec<String>,
}

impl Row {
    /// Whether the median keeps the bound.
    pub(crate) fn holds(&self) -> bool {
        self.bound.holds(self.figure.median)
    }

    fn cells(&self) -> [String; 6] {
        let rate = |summary: Summary| summary.show(count);
        let (subject, yardstick) = match self.measured {
            Some((subject, yardstick)) => (rate(subject), rate(yardstick)),
            None => (String::new(), String::new()),
        };
        let verdict = match self.bound {
            Bound::None => "",
            _ if self.holds() => "holds",
            _ => "MISSES",
        };
        let figure = self.figure.show(|figure| self.unit.show(figure));
        let bound = self.bound.show(|figure| self.unit.show(figure));
        [self.what.clone(), subject, yardstick, figure, bound, verdict.to_owned()]
    }
}

/// The whole table, with the notes of its rows below it.
pub(crate) fn render(rows: &[Row], footnotes: &[String]) -> String {
    let head = ["what", "a second", "yardstick a second", "figure", "bound", ""].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let widths: Vec<usize> =
        (0..6).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();

    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        if number == 0 {
            let _ = writeln!(text, "{}", "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)));
        }
    }
    let _ = writeln!(text, "\nMedians, with the range of all rounds in parentheses.");
    for note in rows.iter().flat_map(|row| &row.notes).chain(footnotes) {
        let _ = writeln!(text, "· {note}");
    }
    text
}

/// A rate with its thousands apart: `154,321`.
fn count(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(median: f64, bound: Bound) -> Row {
        let figure = Summary { median, min: median, max: median };
        Row {
            what: "a row".to_owned(),
            measured: None,
            figure,
            unit: Unit::Ratio,
            bound,
            notes: vec!["why".to_owned()],
        }
    }

    #[test]
    fn rates_are_grouped_by_thousands() {
        assert_eq!(count(7.4), "7");
        assert_eq!(count(999.6), "1,000");
        assert_eq!(count(1_234_567.0), "1,234,567");
    }

    #[test]
    fn a_missed_bound_stands_out_and_a_row_without_one_has_no_verdict() {
        let text = render(&[row(0.9, Bound::AtLeast(0.8)), row(0.7, Bound::AtLeast(0.8)), row(0.1, Bound::None)], &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].ends_with("holds"), "{text}");
        assert!(lines[3].ends_with("MISSES"), "{text}");
        assert!(lines[4].ends_with("none"), "{text}");
        assert!(text.contains("· why"), "{text}");
    }
}
