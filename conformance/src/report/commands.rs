//! Commands for any POSIX shell, also an interactive one: those that repeat a run, and `curl` commands that repeat requests. Secrets are
//! replaced by the variables that hold them, and commands contain no terminal control characters.

use super::GivenOption;
use crate::http::client::as_sent;
use crate::options::Options;
use crate::redaction::{HIDDEN, Redactor, is_plain_ascii, is_printable, without_secrets};
use animal_store_rules::trace::exchange::Request;
use animal_store_secrets::Piece;

/// The command line that repeats a run, for any POSIX shell. Keys are replaced by the variables that hold them. The repeated run is equal
/// except for the names of new animals, which depend on the time as well as on the seed.
pub(crate) fn rerun_command(options: &Options, redactor: &Redactor) -> String {
    let prose = redactor.for_prose();
    // A recording names the program and the options that were given, and it may be written by others.
    let mut words: Vec<String> = options.invoked.program.split(' ').map(|part| word(part, &prose)).collect();
    for (option, value) in options.arguments() {
        words.push(word(option, &prose));
        let holds_secret = ["--api-key", "--quota-key"].contains(&option);
        words.extend(value.map(|value| word(&value, if holds_secret { redactor } else { &prose })));
    }
    words.join(" ")
}

/// The options of [`rerun_command`] that a report keeps: all but keys, values with a secret, and `--only`.
pub(crate) fn given_options(options: &Options, redactor: &Redactor) -> Vec<GivenOption> {
    let prose = redactor.for_prose();
    let mut kept = Vec::new();
    for (name, value) in options.arguments() {
        let value = value.map(|value| prose.redact(&value));
        let is_hidden = value.as_ref().is_some_and(|value| value.contains(HIDDEN));
        if !is_hidden && !["--api-key", "--quota-key", "--only", "--config", "--env"].contains(&name) {
            kept.push(GivenOption { name: name.to_owned(), value });
        }
    }
    kept
}

/// The options that `curl` needs to reach the target as the judge does: options and values alternate.
pub(super) fn curl_options(options: &Options) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for (name, value) in &options.invoked.given {
        match name.as_str() {
            "--ca-cert" => option("--cacert", value.clone()),
            "--client-cert" => option("--cert", value.clone()),
            "--resolve" => option(name, value.clone()),
            _ => {}
        }
    }
    if let Some(proxy) = &options.transport.proxy {
        option("-x", without_secrets(proxy));
    }
    if let Some(path) = &options.transport.unix_socket {
        option("--unix-socket", path.display().to_string());
    }
    for (name, value) in &options.transport.headers {
        option("-H", if value.is_empty() { format!("{name};") } else { format!("{name}: {HIDDEN}") });
    }
    words
}

/// A longer body goes through a pipe: an argument may be limited to 128 KiB.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// Returns true if the body of a request can be an argument of the command.
pub(super) fn fits_argument(request: &Request) -> bool {
    request.body.as_ref().is_none_or(|body| {
        std::str::from_utf8(&body.bytes).is_ok_and(|text| is_plain(text) && text.len() <= LONGEST_ARGUMENT)
    })
}

/// Writes `curl` commands.
pub(super) struct Curl<'p> {
    /// The options that `curl` needs to reach the target.
    pub(super) options: &'p [String],
    pub(super) redactor: &'p Redactor,
    /// The redactor for the judge's own texts.
    pub(super) prose: &'p Redactor,
}

impl Curl<'_> {
    /// One command for requests, which curl sends on one connection. Only the last may need a pipe for its body.
    pub(super) fn command(&self, base_url: &str, requests: &[&Request]) -> String {
        let mut piped = None;
        let mut transfers = Vec::new();
        for request in requests {
            let (words, printf) = self.transfer(base_url, request);
            transfers.push(words.join(" "));
            piped = printf;
        }
        let command = format!("curl {}", transfers.join(" --next "));
        piped.map_or_else(|| command.clone(), |printf| format!("{printf} | {command}"))
    }

    /// The arguments of `curl` for one request, and the command that pipes its body, if one must.
    fn transfer(&self, base_url: &str, request: &Request) -> (Vec<String>, Option<String>) {
        let Curl { options, redactor, prose } = *self;
        let word = |text: &str| word(text, prose);
        // With -X HEAD, curl would wait for a body.
        let mut words = match request.method.as_str() {
            "HEAD" => vec!["-I".to_owned()],
            "GET" if request.body.is_none() => vec!["-i".to_owned()],
            method => vec!["-i".to_owned(), "-X".to_owned(), word(method)],
        };
        words.extend(options.iter().map(|option| word(option)));
        let mut header = |name: &str, value: &str| {
            // curl omits a field without a value, unless it ends in a semicolon.
            let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
            // The name and the scheme are the judge's own.
            let own = field.len() - value.rsplit(' ').next().map_or(0, str::len);
            let (own, foreign) = if value.is_empty() { (field.as_str(), "") } else { field.split_at(own) };
            words.extend(["-H".to_owned(), word_in_parts(&[(own, prose), (foreign, redactor)])]);
        };
        if let Some(value) = &request.authorization {
            header("Authorization", value);
        }
        for (name, value) in &request.headers {
            header(name, value);
        }
        let mut piped = None;
        if let Some(body) = &request.body {
            header("Content-Type", &body.content_type);
            match std::str::from_utf8(&body.bytes) {
                Ok(text) if fits_argument(request) => words.extend(["--data-raw".to_owned(), word(text)]),
                _ => {
                    piped = Some(printf(&body.bytes, prose));
                    words.extend(["--data-binary".to_owned(), "@-".to_owned()]);
                }
            }
        }
        let url = format!("{base_url}{}", request.target());
        if url.contains(['[', ']', '{', '}']) {
            words.push("-g".to_owned());
        }
        let url = as_sent(&url);
        let (own, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        words.push(word_in_parts(&[(own, prose), (query, redactor)]));
        (words, piped)
    }
}

/// The command that runs a program with these words, each quoted for any POSIX shell, also an interactive one. Control characters are
/// escaped.
pub fn shell_command(program: &str, words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().fold(program.to_owned(), |command, text| command + " " + &word(&text, &Redactor::default()))
}

/// The text quoted as one word.
fn word(text: &str, redactor: &Redactor) -> String {
    word_in_parts(&[(text, redactor)])
}

/// A text in parts, each with the redactor for it, quoted as one word.
fn word_in_parts(parts: &[(&str, &Redactor)]) -> String {
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
fn printf(bytes: &[u8], redactor: &Redactor) -> String {
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
fn is_plain(text: &str) -> bool {
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
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Secret(expansion) => {
                let runs_on = matches!(pieces.get(index + 1), Some(Piece::Text(text)) if text.starts_with(is_of_name));
                let name = expansion.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
                match name.filter(|name| !runs_on && name.chars().all(is_of_name)) {
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
    use crate::options::Invoked;
    use crate::redaction::redactor;

    fn hiding(key: &str) -> Redactor {
        let mut redactor = Redactor::default();
        redactor.hide(key, "${CONFORM_API_KEY}");
        redactor
    }

    fn word(text: &str) -> String {
        super::word(text, &hiding("sk-1"))
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
        assert_eq!(printf(b"\"\xff\0'\n", &hiding("sk-1")), r#"printf '"\377\000'\''\n'"#);
        assert_eq!(printf("Zoë \u{202e}".as_bytes(), &hiding("sk-1")), r"printf 'Zoë \342\200\256'");
    }

    fn curl(key: &str, base_url: &str, request: &Request) -> String {
        let redactor = hiding(key);
        Curl { options: &[], redactor: &redactor, prose: &redactor.for_prose() }.command(base_url, &[request])
    }

    #[test]
    fn the_key_is_a_variable_and_the_rest_is_quoted() {
        let request = Request::new("POST", "/pets").authorization("Bearer sk-1").json(r#"{"name":"O'Hara $HOME"}"#);
        assert_eq!(
            curl("sk-1", "http://h/v1", &request),
            r#"curl -i -X POST -H "Authorization: Bearer $CONFORM_API_KEY" -H 'Content-Type: application/json' --data-raw '{"name":"O'\''Hara $HOME"}' http://h/v1/pets"#
        );
    }

    #[test]
    fn a_key_of_one_letter_is_a_variable_where_it_is_sent_and_nowhere_else() {
        let request = Request::new("GET", "/pets").query("api_key=e").authorization("Bearer e");
        assert_eq!(
            curl("e", "http://here/v1", &request),
            r#"curl -i -H "Authorization: Bearer $CONFORM_API_KEY" "http://here/v1/pets?api_k${CONFORM_API_KEY}y=$CONFORM_API_KEY""#
        );
    }

    #[test]
    fn the_command_contains_only_the_seed_and_options_that_differ_from_their_defaults() {
        let mut options = Options::new("http://h/v1", "sk-main-4711").unwrap();
        options.seed = 7;
        let command_line = rerun_command(&options, &redactor(&options));
        assert_eq!(command_line, r#"conform --base-url http://h/v1 --api-key "$CONFORM_API_KEY" --seed 7"#);
        options.invoked = Invoked { program: "cargo xtask conform".to_owned(), embedded: true, ..Invoked::default() };
        assert_eq!(rerun_command(&options, &redactor(&options)), "cargo xtask conform --seed 7");
    }

    #[test]
    fn curl_reaches_the_target_as_the_judge_does() {
        let expected = [
            "--cacert",
            "ca.pem",
            "--cert",
            "client.pem",
            "--resolve",
            "h:80:192.0.2.7",
            "-x",
            "http://(hidden)@proxy:3128",
            "--unix-socket",
            "/run/api.sock",
        ];
        let mut options = Options::new("http://h/v1", "sk-main-4711").unwrap();
        let given = [("--ca-cert", "ca.pem"), ("--client-cert", "client.pem"), ("--resolve", "h:80:192.0.2.7")];
        options.invoked.given = given.map(|(option, value)| (option.to_owned(), value.to_owned())).to_vec();
        options.transport.proxy = Some("http://me:secret@proxy:3128".to_owned());
        options.transport.unix_socket = Some("/run/api.sock".into());
        options.transport.headers = vec![("X-Tenant".to_owned(), "a b".to_owned())];
        assert_eq!(curl_options(&options), [&expected[..], &["-H", "X-Tenant: (hidden)"]].concat());
    }
}
