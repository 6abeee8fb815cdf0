//! Formatting of numbers, times and sentences.

use animal_store_conformance::layout::capitalized;
use jiff::Timestamp;

/// An integer with thousands separators; in scientific notation where that would be too long.
pub(super) fn figure(value: i64) -> String {
    if value.unsigned_abs() >= 10_000_000 {
        return format!("{:.1e}", value as f64);
    }
    let digits = value.unsigned_abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0 { format!("-{out}") } else { out }
}

/// Seconds, with minutes where there are two or more.
pub(super) fn seconds(value: f64) -> String {
    if value < 120.0 {
        return format!("{value:.1} s");
    }
    let minutes = (value / 60.0).floor();
    format!("{minutes} min {:.0} s", (value - minutes * 60.0).floor())
}

/// A time as text, to the second.
pub(crate) fn date_and_time(time: &Timestamp) -> String {
    time.strftime("%-d %B %Y, %H:%M:%S UTC").to_string()
}

/// A number of times as text.
pub(super) fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

/// A title of the catalogue with a capital, unless its first word is code.
pub(super) fn sentence_case(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.chars().all(|c| c.is_ascii_lowercase() || c == ',');
    if is_word { capitalized(text) } else { text.to_owned() }
}

/// The pieces of a text of the catalogue, and whether each is code, which the catalogue puts between backticks.
pub(super) fn spans(text: &str) -> Vec<(bool, &str)> {
    text.split('`').enumerate().map(|(index, piece)| (index % 2 == 1, piece)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (-123_456, "-123,456"), (i64::MAX, "9.2e18")];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn times_read_like_times() {
        assert_eq!(seconds(0.04), "0.0 s");
        assert_eq!(seconds(61.24), "61.2 s");
        assert_eq!(seconds(183.9), "3 min 3 s");
        let time = "2026-06-01T12:00:00.02Z".parse().unwrap();
        assert_eq!(date_and_time(&time), "1 June 2026, 12:00:00 UTC");
        assert_eq!([times(1), times(2), times(3)], ["once", "twice", "3 times"]);
    }
}
