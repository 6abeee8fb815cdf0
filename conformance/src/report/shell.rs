//! Quoting for any POSIX shell, also an interactive one. Secrets are replaced by the variables that hold them, and commands
//! contain no terminal control characters.

use crate::redaction::{Redactor, is_plain_ascii, is_printable};
use animal_store_secrets::Piece;

/// The command that runs a program with these words, each quoted for any POSIX shell, also an interactive one. Control characters are
/// escaped.
#[must_use]
pub fn shell_command(program: &str, words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().fold(program.to_owned(), |command, text| command + " " + &word(&text, &Redactor::default()))
}

/// The text quoted as one word.
pub(crate) fn word(text: &str, redactor: &Redactor) -> String {
    word_in_parts(&[(text, redactor)])
}

/// A text in parts, each with the redactor for it, quoted as one word.
pub(crate) fn word_in_parts(parts: &[(&str, &Redactor)]) -> String {
    let pieces: Vec<Piece<'_>> = parts.iter().flat_map(|(text, redactor)| redactor.pieces(text)).collect();
    if !parts.iter().all(|(text, _)| is_plain(text)) {
        return format!(r#""$({})""#, printf_of(&pieces, true));
    }
    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
        return literal(&parts.iter().map(|(text, _)| *text).collect::<String>());
    }
    // The whole word is in double quotes if only the variables are special in it.
    let inert = |text: &str| !text.contains(['"', '\\', '$', '`', '!']);
    if pieces.iter().all(|piece| matches!(piece, Piece::Secret(_)) || matches!(piece, Piece::Text(text) if inert(text)))
    {
        return format!("\"{}\"", joined(&pieces));
    }
    let quoted = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => single_quoted(text),
        Piece::Secret(expansion) => format!("\"{expansion}\""),
    });
    quoted.collect()
}

/// A `printf` command that writes these bytes.
pub(crate) fn printf(bytes: &[u8], redactor: &Redactor) -> String {
    // A character for each byte where the bytes are not UTF-8: secrets are ASCII, which is the same in both.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    };
    printf_of(&redactor.pieces(&text), std::str::from_utf8(bytes).is_ok())
}

fn printf_of(pieces: &[Piece<'_>], is_text: bool) -> String {
    let (mut format, mut arguments) = (String::new(), String::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => text.chars().for_each(|c| match c {
                '%' => format.push_str("%%"),
                '\\' => format.push_str(r"\\"),
                '\n' => format.push_str(r"\n"),
                '\t' => format.push_str(r"\t"),
                c if needs_no_escape(c) && (is_text || c.is_ascii()) => format.push(c),
                c if is_text => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| format.push_str(&format!(r"\{byte:03o}")));
                }
                c => format.push_str(&format!(r"\{:03o}", u32::from(c))),
            }),
            Piece::Secret(expansion) => {
                format.push_str("%s");
                arguments.push_str(&format!(" \"{expansion}\""));
            }
        }
    }
    format!("printf {}{arguments}", single_quoted(&format))
}

/// Returns true if a text needs no escape in a command.
pub(crate) fn is_plain(text: &str) -> bool {
    is_plain_ascii(text) || text.chars().all(needs_no_escape)
}

fn needs_no_escape(c: char) -> bool {
    is_printable(c) && !c.is_control()
}

fn literal(text: &str) -> String {
    let needs_no_quotes = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(needs_no_quotes) && !text.starts_with('=') {
        text.to_owned()
    } else {
        single_quoted(text)
    }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The pieces joined; a plain variable gets no braces unless a name character follows it.
fn joined(pieces: &[Piece<'_>]) -> String {
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Secret(expansion) => {
                let runs_on = match pieces.get(index + 1) {
                    Some(Piece::Text(text)) => text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'),
                    _ => false,
                };
                let name = expansion.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
                match name.filter(|name| !runs_on && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
                    Some(name) => out.push_str(&format!("${name}")),
                    None => out.push_str(expansion),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        redactor.hide("sk-1", "${CONFORM_API_KEY}");
        redactor
    }

    fn word(text: &str) -> String {
        super::word(text, &redactor())
    }

    #[test]
    fn a_word_is_quoted_only_where_necessary() {
        assert_eq!(word("http://h/v1/pets"), "http://h/v1/pets");
        assert_eq!(word("http://h/v1/pets?limit=1"), "'http://h/v1/pets?limit=1'");
        assert_eq!(word(""), "''");
        assert_eq!(word("O'Hara $HOME"), r"'O'\''Hara $HOME'");
    }

    #[test]
    fn a_secret_is_a_variable_whatever_surrounds_it() {
        assert_eq!(word("Bearer sk-1"), r#""Bearer $CONFORM_API_KEY""#);
        assert_eq!(word("Bearer sk-1x"), r#""Bearer ${CONFORM_API_KEY}x""#);
        // An exclamation mark in double quotes would recall a command in an interactive shell.
        assert_eq!(word("wow! sk-1"), r#"'wow! '"${CONFORM_API_KEY}""#);
    }

    #[test]
    fn terminal_control_characters_are_written_with_printf() {
        assert_eq!(word("a\tsk-1\u{1b}%"), r#""$(printf 'a\t%s\033%%' "${CONFORM_API_KEY}")""#);
        assert_eq!(printf(b"\"\xff\0'\n", &redactor()), r#"printf '"\377\000'\''\n'"#);
        assert_eq!(printf("Zoë \u{202e}".as_bytes(), &redactor()), r"printf 'Zoë \342\200\256'");
    }
}
