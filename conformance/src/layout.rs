//! Text in the columns of a terminal: what counts is the room that characters take there, not their bytes.

use unicode_width::UnicodeWidthChar;

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The text in lines of at most so many columns, broken at spaces, and within a word only where it is longer than a line. Its
/// own line breaks stay.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, columns.max(2))).collect()
}

fn wrap_line(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut line, mut begun) = (Vec::new(), String::new(), false);
    for word in text.split([' ', '\t']) {
        if begun && width(&line) + 1 + width(word) <= columns {
            line.push(' ');
        } else if begun {
            lines.push(std::mem::take(&mut line));
        }
        begun = true;
        for c in word.chars() {
            if width(&line) + columns_of(c) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// The text in one line of at most so many columns; an ellipsis stands for what is cut off.
pub(crate) fn cut(text: &str, columns: usize) -> String {
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
