//! The signs that a recorder or a sanitizer changed a value or a body.

use animal_store_rules::trace::json::Json;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::lenient::Text;

/// The words that stand in place of values, alone or with others.
const REDACTED: [&str; 6] = ["redacted", "masked", "sanitized", "scrubbed", "anonymized", "anonymised"];

/// The words that stand in place of values, alone.
const REDACTED_ALONE: [&str; 8] = ["filtered", "hidden", "none", "null", "omitted", "removed", "secret", "undefined"];

/// Returns true if a value is the name of a kind of values, in brackets: `<number>`, `{{key}}`, `${limit}`, `[API_KEY]`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim().trim_start_matches('$');
    let inside = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    [('<', '>'), ('{', '}')].into_iter().any(|(open, close)| value.starts_with(open) && value.ends_with(close))
        || inside
            .is_some_and(|name| name.len() > 1 && name.chars().all(|c| c.is_ascii_alphabetic() || " _-".contains(c)))
}

/// Returns true if a value was replaced by a placeholder or a mark such as `REDACTED` or `***`.
pub(super) fn is_redacted(value: &str) -> bool {
    let word = value.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
    is_marked(value) || REDACTED_ALONE.contains(&word.as_str())
}

/// Returns true if a text shows that a value was replaced, whatever it describes: an animal may be called `Hidden`, and `removed` is a
/// message.
fn is_marked(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_blotted = text.len() >= 3
        && text.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '\u{2022}' | '\u{2026}' | '-' | '#'));
    is_placeholder(text)
        || is_blotted
        || lower.split(|c: char| !c.is_ascii_alphabetic()).any(|word| REDACTED.contains(&word))
}

/// Returns true if an `Authorization` value has a placeholder in place of the key: `Bearer YOUR_API_KEY`, `Bearer <api key>`.
pub(super) fn is_key_placeholder(value: &str) -> bool {
    let token = value.split_once(' ').map_or(value, |(_, token)| token).trim();
    let is_name = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '-');
    is_redacted(value) || is_redacted(token) || is_name(token)
}

/// Returns true if a media type is that of JSON.
pub(super) fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json" || media_type.ends_with("+json")
}

/// Returns true if a body whose length is not stated may be what was sent. Recorders cut bodies, leave them in a coding, or put them into
/// base64, strings or another charset. So a body that should be JSON and is none is unknown, because its recorder may have changed it.
pub(super) fn is_plausible(bytes: &[u8], text: &Text, content_type: &str) -> bool {
    if bytes.is_empty() || text.has_halves || is_mojibake(bytes) {
        return false;
    }
    match Json::parse(bytes) {
        Ok(Json::String(inner)) => !matches!(Json::parse(inner.as_bytes()), Ok(Json::Array(_) | Json::Object(_))),
        Ok(_) => true,
        Err(_) if is_json(content_type) => false,
        Err(_) => {
            let is_cut = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err_and(|error| error.is_eof());
            let is_hidden = |bytes: Vec<u8>| matches!(bytes.first(), Some(b'{' | b'[' | b'"'));
            !is_cut && std::str::from_utf8(bytes).is_ok() && !BASE64_STANDARD.decode(bytes).is_ok_and(is_hidden)
        }
    }
}

/// Returns true if a text is UTF-8 that was read as Latin-1.
fn is_mojibake(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    !text.is_ascii() && latin.is_some_and(|latin| std::str::from_utf8(&latin).is_ok())
}

/// Returns true if a value of a JSON body was replaced by a mark.
pub(super) fn has_redacted_value(bytes: &[u8]) -> bool {
    Json::parse(bytes).is_ok_and(|json| is_redacted_inside(&json))
}

fn is_redacted_inside(json: &Json) -> bool {
    match json {
        Json::String(text) => is_marked(text),
        Json::Array(items) => items.iter().any(is_redacted_inside),
        Json::Object(members) => members.iter().any(|(_, value)| is_redacted_inside(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_for_what_is_hidden_is_no_value() {
        let marks = [
            "[redacted]",
            "<REDACTED>",
            "***",
            "xxxxxxxx",
            "(hidden)",
            "**REMOVED**",
            "REDACTED_VALUE",
            "[Limit redacted]",
        ];
        for mark in marks.into_iter().chain(["\u{2022}\u{2022}\u{2022}", "[number]", "[object Object]"]) {
            assert!(is_redacted(mark), "{mark}");
        }
        for value in ["60", "Sun, 06 Nov 1994 08:49:37 GMT", "sk-1", "application/json", "key-secret", "0", "[]", "[1]"]
        {
            assert!(!is_redacted(value), "{value}");
        }
    }

    #[test]
    fn a_placeholder_of_a_key_is_no_key() {
        for placeholder in
            ["Bearer YOUR_API_KEY", "Bearer <api key>", "Bearer [API_KEY]", "Bearer DUMMY", "REDACTED", "Bearer ***"]
        {
            assert!(is_key_placeholder(placeholder), "{placeholder}");
        }
        for key in ["Bearer sk-live-1", "Bearer AKIA4711", "bearer abc", "Basic dXNlcjpwYXNz", "Bearer my-secret"] {
            assert!(!is_key_placeholder(key), "{key}");
        }
    }

    #[test]
    fn a_body_that_should_be_json_and_is_none_is_unknown_unless_its_length_is_stated() {
        let text = serde_json::from_str::<Text>(r#""[]""#).expect("a text");
        let is_plausible = |body: &str, content_type: &str| is_plausible(body.as_bytes(), &text, content_type);
        for changed in [
            "[{\"id\":7}, ...]",
            "2\r\n[]\r\n0\r\n\r\n",
            "[object Object]",
            r#""[{\"id\":7}]""#,
            "{\"name\":\"Zo\u{c3}\u{ab}\"}",
            "",
        ] {
            assert!(!is_plausible(changed, "application/json; charset=utf-8"), "{changed}");
        }
        for (body, content_type) in [
            ("[]", "application/json"),
            ("\"x\"", "application/json"),
            ("<p>No</p>", "text/html"),
            ("{\"name\":\"Zo\u{eb}\"}", ""),
        ] {
            assert!(is_plausible(body, content_type), "{body}");
        }
        assert!(!is_plausible("W10=", "text/plain") && !is_plausible("[1,", "text/plain"));
    }

    #[test]
    fn a_body_with_a_value_that_is_hidden_is_unknown() {
        assert!(has_redacted_value(br#"[{"id":"[redacted]"}]"#) && has_redacted_value(br#"{"name":"***"}"#));
        assert!(!has_redacted_value(br#"{"name":"Hidden","message":"removed"}"#) && !has_redacted_value(b"***"));
    }
}
