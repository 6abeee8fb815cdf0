//! Messages of an archive: what is known of their header fields and bodies.
//!
//! In each of these, `None` is withheld, and `Some(None)` is absent.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer};

use crate::trace::exchange::{Body, MAX_BODY};
use crate::trace::rate_limit::{LIMIT, REMAINING, RESET};
use crate::trace::retry_after::RETRY_AFTER;

/// The request of an entry.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentRequest {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) http_version: Option<String>,
    pub(super) headers: Vec<Field>,
    pub(super) post_data: Option<PostData>,
}

/// The response of an entry.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ReceivedResponse {
    pub(super) status: f64,
    pub(super) headers: Vec<Field>,
    pub(super) content: Content,
    pub(super) body_size: Option<f64>,
    #[serde(rename = "_error")]
    pub(super) error: Option<String>,
}

/// A header field.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Field {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) value: String,
}

/// The body of a request.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(deserialize_with = "or_default")]
    pub(super) mime_type: String,
    pub(super) text: Option<String>,
    encoding: Option<String>,
    #[serde(rename = "_base64")]
    pub(super) base64: Option<String>,
    #[serde(rename = "_cut")]
    pub(super) cut: bool,
}

/// The body of a response.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    size: Option<f64>,
    pub(super) text: Option<String>,
    pub(super) encoding: Option<String>,
    #[serde(rename = "_cut")]
    pub(super) cut: bool,
    /// Whether the body went on after what was read of it.
    #[serde(rename = "_unread")]
    pub(super) unread: bool,
}

/// Some exporters write null for what is empty.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Fields that programs inside a web page do not see, in lower case: an archive that has one of them was recorded below the page, and
/// so has all of them. `Date` and the like may be exposed to pages, but hardly without the fields that rules ask for.
const BELOW_THE_PAGE: [&str; 9] =
    ["connection", "date", "keep-alive", "server", "set-cookie", "transfer-encoding", "via", LIMIT, RESET];

/// Fields of a response that rules read, in lower case.
const JUDGED: [&str; 8] = ["content-type", "date", "deprecation", "sunset", LIMIT, REMAINING, RESET, RETRY_AFTER];

/// The header fields of a response, names in lower case.
pub(super) fn received_headers(fields: &[Field]) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for field in fields.iter().filter(|field| !field.name.starts_with(':')) {
        let name = field.name.to_ascii_lowercase();
        // Browsers join the values of repeated fields by line breaks.
        for value in field.value.split('\n') {
            if JUDGED.contains(&name.as_str()) && is_redacted(value) {
                return None;
            }
            headers.push((name.clone(), value.to_owned()));
        }
    }
    headers.iter().any(|(name, _)| BELOW_THE_PAGE.contains(&name.as_str())).then_some(headers)
}

/// The `Authorization` of a request. Where its header fields are not all shown, as where there is no host among them, its absence
/// is not known.
#[expect(clippy::option_option, reason = "withheld, absent and present, as with every other message part here")]
pub(super) fn authorization(request: &SentRequest) -> Option<Option<String>> {
    let mut values = values(&request.headers, "authorization");
    match (values.next(), values.next()) {
        (None, _) => shows_all(request).then_some(None),
        (Some(value), None) if !value.is_empty() && !value.split_whitespace().any(is_redacted) => {
            Some(Some(value.to_owned()))
        }
        _ => None,
    }
}

/// The body of a request, with its media type.
#[expect(clippy::option_option, reason = "withheld, absent and present, as with every other message part here")]
pub(super) fn sent_body(request: &SentRequest) -> Option<Option<Body>> {
    let length = values(&request.headers, "content-length").next();
    let Some(data) = &request.post_data else {
        let is_http_1 =
            request.http_version.as_deref().is_some_and(|version| version.to_ascii_lowercase().starts_with("http/1"));
        let is_framed = length.is_some() || values(&request.headers, "transfer-encoding").next().is_some();
        let has_none = length == Some("0") || is_http_1 && shows_all(request) && !is_framed;
        return (has_none || ["GET", "HEAD"].contains(&request.method.as_str())).then_some(None);
    };
    let bytes = decoded(data.text.as_deref()?, data.encoding.as_deref())?;
    let content_type = values(&request.headers, "content-type").next().unwrap_or(&data.mime_type);
    let is_whole = length.is_none_or(|length| length.parse() == Ok(bytes.len()));
    (is_whole && !content_type.is_empty()).then(|| Some(Body { content_type: content_type.to_owned(), bytes }))
}

/// The body of a response. Exporters truncate long ones, leave them out, and write those anew that they have parsed.
pub(super) fn received_body(response: &ReceivedResponse, headers: Option<&[(String, String)]>) -> Option<Vec<u8>> {
    let content = &response.content;
    let bytes = match &content.text {
        Some(text) => decoded(text, content.encoding.as_deref())?,
        None => Vec::new(),
    };
    let header = |name: &str| headers?.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    let coded = header("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
    let length = bytes.len() as f64;
    if bytes.is_empty() {
        let is_empty =
            header("content-length") == Some("0") || response.body_size == Some(0.0) || response.status == 204.0;
        return (is_empty && content.size.is_none_or(|size| size <= 0.0)).then_some(bytes);
    }
    let has_size =
        content.size.filter(|size| *size > 0.0).is_none_or(|size| if coded { size <= length } else { size == length });
    let has_length = coded || header("content-length").is_none_or(|text| text.trim().parse() == Ok(bytes.len()));
    (has_size && has_length).then_some(bytes)
}

/// The bytes of a text. One in which characters were replaced was not a text, or another one.
fn decoded(text: &str, encoding: Option<&str>) -> Option<Vec<u8>> {
    let bytes = match encoding {
        Some("base64") => BASE64_STANDARD.decode(text).ok()?,
        Some(other) if !other.is_empty() => return None,
        _ if text.contains('\u{fffd}') => return None,
        _ => text.as_bytes().to_vec(),
    };
    (bytes.len() <= MAX_BODY).then_some(bytes)
}

/// The values of a header field, given in lower case.
fn values<'f>(fields: &'f [Field], name: &'static str) -> impl Iterator<Item = &'f str> {
    fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value.trim())
}

/// Whether the header fields of a request are all shown: the host is among them, which every request has.
fn shows_all(request: &SentRequest) -> bool {
    values(&request.headers, "host").chain(values(&request.headers, ":authority")).next().is_some()
}

/// Whether a value was replaced by a mark for what is hidden.
fn is_redacted(value: &str) -> bool {
    const MARKS: [&str; 8] = ["redacted", "filtered", "hidden", "masked", "removed", "sanitized", "scrubbed", "secret"];
    let word: String = value.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    let is_blotted = value.len() >= 3
        && value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '\u{2022}' | '\u{2026}' | '-' | '#'));
    MARKS.contains(&word.as_str()) || is_blotted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_for_what_is_hidden_is_no_value() {
        for mark in
            ["[redacted]", "<REDACTED>", "***", "xxxxxxxx", "(hidden)", "\u{2022}\u{2022}\u{2022}", "**REMOVED**"]
        {
            assert!(is_redacted(mark), "{mark}");
        }
        for value in ["60", "Sun, 06 Nov 1994 08:49:37 GMT", "sk-1", "application/json", "key-secret", "0"] {
            assert!(!is_redacted(value), "{value}");
        }
    }
}
