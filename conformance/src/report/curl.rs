//! A command line that sends a request again.

use crate::wire::exchange::Request;
use crate::wire::secret::{Piece, Redactor};

/// The `curl` command for a request, for bash. Keys stand as the variables that hold them.
pub(super) fn line(base_url: &str, request: &Request, redactor: &Redactor) -> String {
    let mut line = String::from("curl -i");
    if request.method != "GET" {
        line.push_str(&format!(" -X {}", request.method));
    }
    let mut header = |name: &str, value: &str| {
        line.push_str(&format!(" -H {}", quoted(&format!("{name}: {value}"), redactor)));
    };
    if let Some(value) = &request.authorization {
        header("Authorization", value);
    }
    for (name, value) in &request.headers {
        header(name, value);
    }
    if let Some(body) = &request.body {
        header("Content-Type", &body.content_type);
        let bytes = match std::str::from_utf8(&body.bytes) {
            Ok(text) => quoted(text, redactor),
            Err(_) => ansi_c_quoted(&body.bytes),
        };
        line.push_str(&format!(" --data-binary {bytes}"));
    }
    line.push(' ');
    line.push_str(&quoted(&format!("{base_url}{}", request.target()), redactor));
    line
}

/// Single quotes where that is enough; double quotes where a variable must be expanded.
fn quoted(text: &str, redactor: &Redactor) -> String {
    let pieces = redactor.pieces(text);
    if text.chars().any(|c| c.is_control()) {
        return ansi_c_quoted(redactor.redact(text).as_bytes());
    }
    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = String::from('"');
    for piece in pieces {
        match piece {
            Piece::Secret(expansion) => out.push_str(expansion),
            Piece::Text(text) => text.chars().for_each(|c| {
                if matches!(c, '"' | '\\' | '$' | '`') {
                    out.push('\\');
                }
                out.push(c);
            }),
        }
    }
    out.push('"');
    out
}

/// bash's `$'…'`, which can hold any byte but NUL.
fn ansi_c_quoted(bytes: &[u8]) -> String {
    let inner: String = bytes
        .iter()
        .map(|byte| match byte {
            b'\'' => r"\'".to_owned(),
            b'\\' => r"\\".to_owned(),
            0x20..=0x7e => char::from(*byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect();
    format!("$'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        redactor.hide("sk-1", "${CONFORM_API_KEY}");
        redactor
    }

    #[test]
    fn the_key_is_a_variable_and_the_rest_survives_the_shell() {
        let request = Request::new("POST", "/pets").authorization("Bearer sk-1").json(r#"{"name":"O'Hara $HOME"}"#);
        assert_eq!(
            line("http://h/v1", &request, &redactor()),
            r#"curl -i -X POST -H "Authorization: Bearer ${CONFORM_API_KEY}" -H 'Content-Type: application/json' --data-binary '{"name":"O'\''Hara $HOME"}' 'http://h/v1/pets'"#
        );
    }

    #[test]
    fn a_key_in_the_query_is_a_variable_too() {
        let request = Request::new("GET", "/pets").query("api_key=sk-1");
        assert_eq!(
            line("http://h/v1", &request, &redactor()),
            r#"curl -i "http://h/v1/pets?api_key=${CONFORM_API_KEY}""#
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_written_as_escapes() {
        let request = Request::new("POST", "/pets").json(b"\"\xff'\"".to_vec());
        assert!(line("http://h/v1", &request, &redactor()).contains(r#"--data-binary $'"\xff\'"'"#));
    }
}
