//! The header fields and bodies of messages in an archive, as far as they are known.
//!
//! In the result of each function, `None` is a withheld part and `Some(None)` an absent one.

#![expect(clippy::option_option, reason = "a part is withheld, absent or present")]

use std::borrow::Cow;

use animal_store_rules::trace::exchange::{Body, MAX_BODY};
use animal_store_rules::trace::rate_limit::{LIMIT, REMAINING, RESET};
use animal_store_rules::trace::retry_after::RETRY_AFTER;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::lenient::{Text, if_readable, number, or_default, text, text_or_default};
use super::marks::{self, is_json, is_placeholder, is_redacted};

/// The request of an entry.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentRequest {
    #[serde(deserialize_with = "text")]
    pub(super) method: String,
    #[serde(deserialize_with = "text")]
    pub(super) url: String,
    #[serde(deserialize_with = "if_readable")]
    pub(super) http_version: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) headers: Vec<Field>,
    #[serde(deserialize_with = "or_default")]
    query_string: Vec<Field>,
    #[serde(deserialize_with = "number")]
    body_size: Option<f64>,
    pub(super) post_data: Option<ArchivedBody>,
}

/// The response of an entry.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ReceivedResponse {
    #[serde(deserialize_with = "number")]
    pub(super) status: Option<f64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) headers: Vec<Field>,
    #[serde(deserialize_with = "or_default")]
    pub(super) content: ArchivedBody,
    #[serde(deserialize_with = "number")]
    pub(super) headers_size: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub(super) body_size: Option<f64>,
    #[serde(rename = "_transferSize", deserialize_with = "number")]
    pub(super) transfer_size: Option<f64>,
    #[serde(rename = "_fetchedViaServiceWorker", deserialize_with = "if_readable")]
    pub(super) via_service_worker: Option<Value>,
    #[serde(rename = "_error", deserialize_with = "if_readable")]
    error: Option<String>,
    #[serde(rename = "_failureText", deserialize_with = "if_readable")]
    failure_text: Option<String>,
}

/// A header field.
#[derive(Default, Deserialize, Hash)]
#[serde(default)]
pub(super) struct Field {
    #[serde(deserialize_with = "text_or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "text_or_default")]
    pub(super) value: String,
}

impl Field {
    /// Returns true if the recorder lost or redacted the name: then it may have been the name of any field.
    fn is_damaged(&self) -> bool {
        self.name.trim().is_empty() || is_redacted(&self.name)
    }
}

/// The body of a message.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ArchivedBody {
    #[serde(deserialize_with = "if_readable")]
    mime_type: Option<Text>,
    #[serde(deserialize_with = "number")]
    size: Option<f64>,
    pub(super) text: Option<Text>,
    #[serde(deserialize_with = "if_readable")]
    encoding: Option<String>,
    /// The name of the file that contains the bytes, which Playwright writes instead of `text`.
    #[serde(rename = "_file", deserialize_with = "if_readable")]
    pub(super) file: Option<String>,
    #[serde(skip)]
    pub(super) attached: Option<Vec<u8>>,
}

impl ArchivedBody {
    /// The bytes of a body that is recorded, as far as they are known. A text with replacement characters has lost bytes.
    fn bytes(&self) -> Option<Vec<u8>> {
        if self.file.is_some() {
            return self.attached.clone();
        }
        let text = self.text.as_ref()?;
        let bytes = match self.encoding.as_deref() {
            Some("base64") => BASE64_STANDARD.decode(&text.bytes).ok()?,
            Some(other) if !other.is_empty() => return None,
            _ if text.has_halves && std::str::from_utf8(&text.bytes).is_ok() => return None,
            _ if String::from_utf8_lossy(&text.bytes).contains('\u{fffd}') && !text.has_halves => return None,
            _ => text.bytes.clone(),
        };
        (bytes.len() <= MAX_BODY).then_some(bytes)
    }

    /// The media type that the recorder states.
    fn mime_type(&self) -> Cow<'_, str> {
        self.mime_type.as_ref().map(|text| String::from_utf8_lossy(&text.bytes)).unwrap_or_default()
    }

    /// Returns true if these bytes, whose length is not stated, may be those of the message. Files have the bytes that were transferred.
    fn is_plausible(&self, bytes: &[u8], content_type: Option<&str>) -> bool {
        let stated = self.mime_type();
        let content_type = content_type.unwrap_or(&stated);
        self.file.is_some() || self.text.as_ref().is_some_and(|text| marks::is_plausible(bytes, text, content_type))
    }
}

/// Header fields of a response that programs inside a web page do not see, in lower case. A recorder that shows one of them worked below the
/// page, and so shows all fields.
const BELOW_THE_PAGE: [&str; 7] =
    ["connection", "date", "keep-alive", "server", "set-cookie", "transfer-encoding", "via"];

/// Header fields of a response that servers expose to programs inside a web page, in lower case. A recorder that shows one of them and the
/// host of the request worked below the page.
const EXPOSED: [&str; 2] = [LIMIT, RESET];

const CONTENT_TYPE: &str = "content-type";

/// Header fields of a response that rules read, in lower case.
const JUDGED: [&str; 8] = [CONTENT_TYPE, "date", "deprecation", "sunset", LIMIT, REMAINING, RESET, RETRY_AFTER];

/// The query of a request, given the query of its URL. Some recorders write the query only apart from the URL, decoded. Such a query is
/// known if none of its characters needs an encoding.
pub(super) fn query(request: &SentRequest, of_url: Option<String>) -> Option<Option<String>> {
    if of_url.is_some() || request.query_string.is_empty() {
        return Some(of_url);
    }
    let mut pairs = Vec::new();
    for Field { name, value } in &request.query_string {
        if !name.bytes().chain(value.bytes()).all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
            return None;
        }
        pairs.push(format!("{name}={value}"));
    }
    Some(Some(pairs.join("&")))
}

/// Returns true if a path or a query is a template: recorders and sanitizers put `{petId}`, `:id` or `<number>` in place of a value.
pub(super) fn is_template(text: &str) -> bool {
    text.split(['/', '&', '=']).any(|part| {
        let part = part.replace("%7B", "{").replace("%7D", "}").replace("%3C", "<").replace("%3E", ">");
        part.len() > 1 && part.starts_with(':') || is_placeholder(&part) || is_redacted(&part)
    })
}

/// The header fields of a response, names in lower case. `Content-Encoding` is removed, because archives have decoded bodies.
pub(super) fn received_headers(request: &SentRequest, response: &ReceivedResponse) -> Option<Vec<(String, String)>> {
    let fields = &response.headers;
    if fields.iter().any(Field::is_damaged) {
        return None;
    }
    // Recorders read the media type from the field.
    if is_json(&response.content.mime_type()) && values(fields, CONTENT_TYPE).next().is_none() {
        return None;
    }
    let mut headers = Vec::new();
    for field in fields.iter().filter(|field| !field.name.starts_with(':')) {
        let name = field.name.to_ascii_lowercase();
        if name == "content-encoding" {
            continue;
        }
        // Browsers join the values of repeated fields by line breaks.
        for value in field.value.split('\n') {
            if JUDGED.contains(&name.as_str()) && (value.trim().is_empty() || is_redacted(value)) {
                return None;
            }
            headers.push((name.clone(), value.to_owned()));
        }
    }
    let has_any_of = |names: &[&str]| headers.iter().any(|(name, _)| names.contains(&name.as_str()));
    (has_any_of(&BELOW_THE_PAGE) || has_any_of(&EXPOSED) && shows_all(request)).then_some(headers)
}

/// The `Authorization` of a request. Its absence is known only if the archive shows all header fields of the request.
pub(super) fn authorization(request: &SentRequest) -> Option<Option<String>> {
    let mut values = values(&request.headers, "authorization");
    match (values.next(), values.next()) {
        (None, _) => shows_all(request).then_some(None),
        (Some(value), None) if !value.is_empty() && !marks::is_key_placeholder(value) => Some(Some(value.to_owned())),
        _ => None,
    }
}

/// The body of a request, with its media type.
pub(super) fn sent_body(request: &SentRequest) -> Option<Option<Body>> {
    let length = values(&request.headers, "content-length").next();
    let Some(data) = &request.post_data else {
        return (length == Some("0") || ["GET", "HEAD"].contains(&request.method.as_str())).then_some(None);
    };
    let bytes = data.bytes()?;
    let content_type = values(&request.headers, CONTENT_TYPE).next();
    let size = request.body_size.filter(|size| *size > 0.0);
    let is_whole = match length {
        Some(length) => length.parse() == Ok(bytes.len()),
        None => size.is_none_or(|size| size == bytes.len() as f64) && data.is_plausible(&bytes, content_type),
    };
    let content_type = content_type.map_or_else(|| data.mime_type(), Cow::from).into_owned();
    let is_known = is_whole && !content_type.is_empty() && !marks::has_redacted_value(&bytes);
    is_known.then_some(Some(Body { content_type, bytes }))
}

/// The body of a response. Exporters truncate long bodies, leave bodies out, and reformat bodies that they have parsed.
pub(super) fn received_body(response: &ReceivedResponse, headers: Option<&[(String, String)]>) -> Option<Vec<u8>> {
    let content = &response.content;
    if [&response.error, &response.failure_text].into_iter().flatten().any(|error| !error.is_empty()) {
        return None;
    }
    let is_recorded = content.file.is_some() || content.text.is_some();
    let bytes = if is_recorded { content.bytes()? } else { Vec::new() };
    let fields = &response.headers;
    let is_coded = values(fields, "content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity"));
    let stated = values(fields, "content-length").next().filter(|_| !is_coded);
    let length = bytes.len() as f64;
    if bytes.is_empty() {
        // Recorders that do not read bodies state a size of 0 as well.
        let is_empty = stated == Some("0") && headers.is_some() || response.status == Some(204.0);
        return (is_empty && content.size.is_none_or(|size| size <= 0.0)).then_some(bytes);
    }
    let size = content.size.filter(|size| *size > 0.0);
    let has_size = size.is_none_or(|size| if is_coded { size <= length } else { size == length });
    let is_whole = match stated {
        Some(text) => text.parse() == Ok(bytes.len()),
        None => content.is_plausible(&bytes, values(fields, CONTENT_TYPE).next()),
    };
    (has_size && is_whole && !marks::has_redacted_value(&bytes)).then_some(bytes)
}

/// The values of a header field, given in lower case.
pub(super) fn values<'f>(fields: &'f [Field], name: &'static str) -> impl Iterator<Item = &'f str> {
    fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value.trim())
}

/// Whether the archive shows all header fields of a request: the host is among them, which every request has.
fn shows_all(request: &SentRequest) -> bool {
    !request.headers.iter().any(Field::is_damaged)
        && values(&request.headers, "host").chain(values(&request.headers, ":authority")).next().is_some()
}
