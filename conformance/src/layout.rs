//! Text in limited space. The widths of a terminal are counted in columns, not in bytes or characters.

use std::borrow::Cow;

use textwrap::{LineEnding, Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar;

/// The number of columns that a text takes in one line of a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The text in lines of at most this many columns, broken at spaces, and within a word only if the word is longer than a line. Line
/// breaks of the text stay.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    // Neither at hyphens nor by the look of the whole paragraph: identifiers stay in one piece, and lines fill up one by one.
    let options = Options::new(columns.max(2))
        .line_ending(LineEnding::LF)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    // A tab has no width of its own, so it becomes a space before anything is measured.
    textwrap::wrap(&text.replace('\t', " "), options).into_iter().map(Cow::into_owned).collect()
}

/// The text in one line of at most this many columns; an ellipsis replaces the rest.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            let fits = columns_of(*c) <= room;
            room = room.saturating_sub(columns_of(*c));
            fits
        })
        .collect();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The text, truncated between characters if it is longer than this many bytes; an ellipsis replaces the rest.
pub fn at_most(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes)])
}

/// A number with its noun: `1 animal`, `2 animals`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The text with a capital at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_at_spaces_and_no_longer_than_its_columns() {
        assert_eq!(wrap("expected 200 and at most one animal", 12), ["expected 200", "and at most", "one animal"]);
        assert_eq!(wrap("a\nb c", 80), ["a", "b c"]);
        assert_eq!(wrap("  indented", 80), ["  indented"]);
        assert_eq!(wrap("", 80), [""]);
        assert_eq!(wrap("a\tb", 2), ["a", "b"]);
        assert_eq!(wrap("see auth.missing-key", 17), ["see", "auth.missing-key"]);
    }

    #[test]
    fn columns_are_counted_and_not_bytes_or_characters() {
        // Each of these takes two columns, and the accent none.
        assert_eq!(wrap("犬犬犬犬", 5), ["犬犬", "犬犬"]);
        assert_eq!(wrap("Zoe\u{301} ok", 6), ["Zoe\u{301} ok"]);
        assert_eq!(width("🐢"), 2);
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken_within() {
        assert_eq!(wrap("say aaaaaaaaaa b", 4), ["say", "aaaa", "aaaa", "aa b"]);
    }

    #[test]
    fn what_is_cut_off_shows_as_an_ellipsis_and_fits() {
        assert_eq!(cut("waiting", 7), "waiting");
        assert_eq!(cut("waiting 0:43", 8), "waiting…");
        assert_eq!(cut("犬犬犬", 4), "犬…");
        assert_eq!(cut("ab", 0), "");
    }
}
