//! The command line of a test suite, and its secret parts.

use std::ffi::OsString;

use crate::printable::Printable;
use crate::secrets::{HIDDEN, Redactor, is_secret_name, unescaped};

/// The text that replaces the key of the server in an output and in the command line.
const KEY: &str = "{key}";

/// A command line that can be shown.
pub(super) struct CommandLine {
    /// The command line, quoted for a shell and without secrets.
    pub(super) shown: Printable,
    /// The secrets in the command line.
    secrets: Vec<String>,
}

/// The meaning of the next word of a command line.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Ordinary,
    /// The value of an option, or a credential behind its scheme.
    Secret,
    /// The value of a header field: a credential, or a scheme with a credential behind it.
    Field,
}

impl CommandLine {
    pub(super) fn new(parts: &[OsString]) -> CommandLine {
        let (mut secrets, mut next) = (Vec::new(), Next::Ordinary);
        let shown = parts.iter().map(|part| quoted(&without_secrets(&part.to_string_lossy(), &mut next, &mut secrets)));
        let shown = shown.collect::<Vec<_>>().join(" ").into();
        CommandLine { shown, secrets }
    }

    /// The output of the command for a server with this key, without the key and without secrets.
    pub(super) fn output(&self, output: &[u8], key: &str) -> String {
        let secrets = self.secrets.iter().map(|secret| (secret.as_str(), HIDDEN));
        let redactor = Redactor::new(secrets.chain([(key, KEY)]));
        String::from_utf8_lossy(&redactor.bytes(output)).into_owned()
    }
}

/// A part of a command line without secrets, which are added to the list. A part may be a script that has many words.
fn without_secrets(part: &str, next: &mut Next, secrets: &mut Vec<String>) -> String {
    let mut shown = String::new();
    for piece in part.split_inclusive(|c: char| c.is_whitespace() || "'\"?&;|()".contains(c)) {
        let end = piece.trim_end_matches(|c: char| c.is_whitespace() || "'\"?&;|()".contains(c)).len();
        let (word, separator) = piece.split_at(end);
        if word.is_empty() {
            shown.push_str(piece);
            continue;
        }
        let is_option = word.starts_with('-');
        let (name, value) = match word.split_once(['=', ':']) {
            _ if *next != Next::Ordinary && !is_option => ("", word),
            Some((name, value)) if is_secret_name(name) && !value.starts_with("//") => (&word[..=name.len()], value),
            _ => (word, ""),
        };
        let is_scheme = ["bearer", "basic", "token"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
        if is_scheme {
            shown.push_str(word);
            *next = Next::Secret;
        } else if !value.is_empty() {
            shown.push_str(name);
            *next = Next::Ordinary;
            if value.contains(['{', '$']) {
                // The word is a placeholder.
                shown.push_str(value);
            } else {
                shown.push_str(HIDDEN);
                secrets.extend([value.to_owned(), unescaped(value)]);
            }
        } else {
            let user = word.split_once("://").and_then(|(scheme, rest)| {
                let authority = rest.split('/').next()?;
                let (user, _) = authority.rsplit_once('@')?;
                Some((scheme.len() + 3, user))
            });
            match user {
                Some((start, user)) => {
                    shown.push_str(&format!("{}{HIDDEN}{}", &word[..start], &word[start + user.len()..]));
                    secrets.extend(user.split(':').map(unescaped));
                }
                None => shown.push_str(word),
            }
            let announced = word.strip_suffix([':', '=']).is_some_and(is_secret_name);
            *next = match () {
                () if announced => Next::Field,
                () if is_option && is_secret_name(word) => Next::Secret,
                () => Next::Ordinary,
            };
        }
        shown.push_str(separator);
    }
    if *next == Next::Field {
        *next = Next::Ordinary;
    }
    shown
}

/// A word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(parts: &[&str]) -> CommandLine {
        CommandLine::new(&parts.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_line_is_shown_without_what_is_secret_in_it() {
        for (parts, expected) in [
            (&["./suite", "--url", "{url}", "--key", "{key}", "a b"][..], "./suite --url {url} --key {key} 'a b'"),
            (&["x", "--password", "hunter-22", "-v"], "x --password redacted -v"),
            (&["x", "--api-key=hunter-22", "TOKEN=abc"], "x --api-key=redacted TOKEN=redacted"),
            (&["x", "-H", "Authorization: Bearer hunter-22"], "x -H 'Authorization: Bearer redacted'"),
            (&["x", "-H", "X-Api-Key:hunter-22"], "x -H X-Api-Key:redacted"),
            (&["x", "--auth", "basic", "hunter-22"], "x --auth basic redacted"),
            (
                &["sh", "-c", "TOKEN='hunter-22' curl -H \"X-Api-Key: hunter-22\""],
                r#"sh -c 'TOKEN='\''redacted'\'' curl -H "X-Api-Key: redacted"'"#,
            ),
            (
                &["sh", "-c", "curl -H \"Authorization: Bearer $CHALLENGE_KEY\""],
                r#"sh -c 'curl -H "Authorization: Bearer $CHALLENGE_KEY"'"#,
            ),
            (&["x", "http://me:hunter-22@h/p?token=hunter-22&a=1"], "x 'http://redacted@h/p?token=redacted&a=1'"),
            (&["x", "a\u{1b}[2Jb"], "x 'a\\u{1b}[2Jb'"),
            (&["pytest", "-k", "name", "tests/a.py::test_b"], "pytest -k name tests/a.py::test_b"),
        ] {
            assert_eq!(line(parts).shown.as_str(), expected);
        }
    }

    #[test]
    fn an_output_repeats_neither_the_key_nor_what_is_secret_in_the_command_line() {
        let line = line(&["x", "--password", "hunter-22"]);
        let output = line.output(b"sent ask_1_secret to ?key=ask%5F1%5Fsecret with hunter-22 \xff", "ask_1_secret");
        assert_eq!(output, "sent {key} to ?key={key} with redacted \u{fffd}");
    }
}
