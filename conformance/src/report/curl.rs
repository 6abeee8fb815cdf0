//! `curl` commands that repeat a request.

use super::shell;
use crate::http::client::as_sent;
use crate::redaction::Redactor;
use animal_store_rules::trace::exchange::Request;

/// A longer body goes through a pipe: an argument may be limited to 128 KiB.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// Writes `curl` commands, for any POSIX shell. Keys are replaced by the variables that hold them.
pub(super) struct Curl<'p> {
    /// The options that `curl` needs to reach the target.
    pub(super) options: &'p [String],
    pub(super) redactor: &'p Redactor,
    /// The redactor for the judge's own texts.
    pub(super) prose: &'p Redactor,
}

/// Returns true if the body of a request can be an argument of the command.
pub(super) fn fits_argument(request: &Request) -> bool {
    request.body.as_ref().is_none_or(|body| {
        std::str::from_utf8(&body.bytes).is_ok_and(|text| shell::is_plain(text) && text.len() <= LONGEST_ARGUMENT)
    })
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
        let word = |text: &str| shell::word(text, prose);
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
            words.extend(["-H".to_owned(), shell::word_in_parts(&[(own, prose), (foreign, redactor)])]);
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
                    piped = Some(shell::printf(&body.bytes, prose));
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
        words.push(shell::word_in_parts(&[(own, prose), (query, redactor)]));
        (words, piped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(key: &str, base_url: &str, options: &[String], requests: &[&Request]) -> String {
        let mut redactor = Redactor::default();
        redactor.hide(key, "${CONFORM_API_KEY}");
        Curl { options, redactor: &redactor, prose: &redactor.for_prose() }.command(base_url, requests)
    }

    fn line(request: &Request) -> String {
        command("sk-1", "http://h/v1", &[], &[request])
    }

    #[test]
    fn the_key_is_a_variable_and_the_rest_is_quoted() {
        let request = Request::new("POST", "/pets").authorization("Bearer sk-1").json(r#"{"name":"O'Hara $HOME"}"#);
        assert_eq!(
            line(&request),
            r#"curl -i -X POST -H "Authorization: Bearer $CONFORM_API_KEY" -H 'Content-Type: application/json' --data-raw '{"name":"O'\''Hara $HOME"}' http://h/v1/pets"#
        );
    }

    #[test]
    fn a_key_of_one_letter_is_a_variable_where_it_is_sent_and_nowhere_else() {
        let request = Request::new("GET", "/pets").query("api_key=e").authorization("Bearer e");
        assert_eq!(
            command("e", "http://here/v1", &[], &[&request]),
            r#"curl -i -H "Authorization: Bearer $CONFORM_API_KEY" "http://here/v1/pets?api_k${CONFORM_API_KEY}y=$CONFORM_API_KEY""#
        );
    }
}
