//! Text that is safe to print, whatever a candidate sent.

/// The text with everything escaped that could control a terminal, mislead a reader or break an XML document: control characters
/// other than line breaks and tabs, line separators, bidirectional controls, and noncharacters.
pub(crate) fn printable(text: &str) -> String {
    // So is nearly every text.
    if is_plain_ascii(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Whether a text has only letters, digits, signs and spaces of ASCII, all of which are shown as they are.
pub(super) fn is_plain_ascii(text: &str) -> bool {
    text.as_bytes().iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a character may be shown as it is.
pub(super) fn is_printable(c: char) -> bool {
    let acts = c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
    let directs = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_none = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    !(acts || directs || is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\r\n\u{ffff}"), "a\\u{1b}[31mb\\u{202e}c\\u{d}\n\\u{ffff}");
    }
}
