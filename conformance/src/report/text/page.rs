//! Lines for a terminal: indented, styled, and wrapped to its width.

use anstyle::{AnsiColor, Style};

use crate::layout::{cut, width, wrap};
use crate::redaction::Printable;

/// Success.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// Failure.
pub const RED: Style = AnsiColor::Red.on_default();
/// Warning.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Details.
pub const DIM: Style = Style::new().dimmed();
/// Titles.
pub const BOLD: Style = Style::new().bold();
pub(super) const PLAIN: Style = Style::new();

/// The number of columns that are shown of a command that is too long.
const SHOWN_OF_LONG: usize = 200;

/// The minimum room beside a head, in columns. With less, the text begins below the head.
const NARROW: usize = 30;

/// A text being written, with ANSI styles.
pub(super) struct Page {
    out: String,
    columns: usize,
    /// The maximum length of a paragraph or a command.
    longest: usize,
}

impl Page {
    /// An empty page of this many columns, which cuts paragraphs and commands that are longer than `longest`.
    pub(super) fn new(columns: usize, longest: usize) -> Page {
        Page { out: String::new(), columns, longest }
    }

    /// The text that was written.
    pub(super) fn finish(self) -> Printable {
        Printable::styled(&self.out)
    }

    /// The columns that remain after an indentation.
    pub(super) fn room(&self, indent: usize) -> usize {
        self.columns.saturating_sub(indent)
    }

    pub(super) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A title, after an empty line.
    pub(super) fn title(&mut self, style: Style, title: &str) {
        self.blank();
        self.text(0, style, title);
    }

    /// A list with a title, unless it is empty.
    pub(super) fn list<T>(
        &mut self,
        (style, title): (Style, &str),
        items: impl IntoIterator<Item = T>,
        show: impl Fn(&mut Page, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index == 0 {
                self.title(style, title);
            }
            show(self, item);
        }
    }

    /// Running text.
    pub(super) fn text(&mut self, indent: usize, style: Style, text: &str) {
        for line in wrap(&cut(text, self.longest), self.room(indent)) {
            self.line(indent, &styled(style, &line));
        }
    }

    /// A line that is never wrapped: a command to copy.
    pub(super) fn verbatim(&mut self, indent: usize, text: &str) {
        let length = width(text);
        if length > self.longest {
            // It could not be run anyway.
            let text = cut(text, SHOWN_OF_LONG);
            return self.line(indent, &format!("{text} ({length} characters, which -v and the other formats show)"));
        }
        self.line(indent, text);
    }

    /// A head, and running text beside it with a hanging indentation.
    pub(super) fn entry(&mut self, indent: usize, head: (&str, Style), text: (&str, Style)) {
        let hanging = indent + width(head.0) + 2;
        let ((head, head_style), (text, text_style)) = (head, text);
        if !text.is_empty() && self.room(hanging) < NARROW {
            self.text(indent, head_style, head);
            return self.text(indent + 4, text_style, text);
        }
        let head = styled(head_style, head);
        if text.is_empty() {
            return self.line(indent, &head);
        }
        let mut lines = wrap(&cut(text, self.longest), self.room(hanging)).into_iter();
        self.line(indent, &format!("{head}  {}", styled(text_style, &lines.next().unwrap_or_default())));
        lines.for_each(|line| self.line(hanging, &styled(text_style, &line)));
    }

    fn line(&mut self, indent: usize, line: &str) {
        if !line.is_empty() {
            self.out.push_str(&" ".repeat(indent));
            self.out.push_str(line);
        }
        self.out.push('\n');
    }
}

fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// A page without its styles, which are its only escape sequences.
pub(super) fn without_styles(page: &Printable) -> String {
    let page = page.as_str();
    let (plain, styled) = page.split_once('\u{1b}').unwrap_or((page, ""));
    let rest = styled.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(plain).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(columns: usize, write: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(columns, usize::MAX);
        write(&mut page);
        page.finish().to_string()
    }

    #[test]
    fn styles_can_be_removed() {
        let page = written(40, |page| page.entry(2, ("name", BOLD), ("some m text", RED)));
        assert!(page.contains('\u{1b}'), "{page:?}");
        assert_eq!(without_styles(&Printable::styled(&page)), "  name  some m text\n");
        assert_eq!(without_styles(&Printable::styled("plain\n")), "plain\n");
    }

    #[test]
    fn a_line_of_thousands_of_characters_is_cut() {
        let mut page = Page::new(usize::MAX, 2_000);
        let long = "x".repeat(6_000);
        page.text(0, PLAIN, &long);
        page.entry(2, ("found", PLAIN), (&long, PLAIN));
        page.verbatim(2, &format!("curl {long}"));
        let shown = page.finish().to_string();
        assert!(shown.lines().all(|line| line.len() < 2_050), "{shown}");
        assert!(shown.contains("(6005 characters, which -v and the other formats show)"), "{shown}");
    }
}
