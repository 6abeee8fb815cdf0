//! An exchange as the judge writes it in a trace: a line of JSON. Its members have the names that the judge uses.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::printable;

/// The name and version of the format.
const FORMAT: &str = "animal-store-trace/2";

/// The first line of a recording, which describes the recording.
#[derive(Serialize)]
pub(super) struct Head {
    format: &'static str,
    writer: Writer,
    /// The digest of a catalogue of requirements: this program judges by none.
    catalogue: &'static str,
    /// The extent of a sample: the recording may have been emptied and the clock set, so absent exchanges prove nothing.
    extent: &'static str,
    base_url: String,
    /// The stand-ins of valid keys.
    keys: Vec<String>,
    category_id: i64,
}

#[derive(Serialize)]
struct Writer {
    name: &'static str,
    version: &'static str,
}

impl Head {
    pub(super) fn new(base_url: String, keys: Vec<String>) -> Self {
        let writer = Writer { name: "reference", version: env!("CARGO_PKG_VERSION") };
        Self { format: FORMAT, writer, catalogue: "", extent: "sample", base_url, keys, category_id: 1 }
    }
}

/// An exchange.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) sent_at: String,
    pub(super) received_at: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) withheld: Vec<&'static str>,
    pub(super) request: Asked,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<Answered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<Failed>,
}

/// A request.
#[derive(Serialize)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authorization: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(flatten)]
    pub(super) body: Written,
}

/// A response.
#[derive(Serialize)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    #[serde(flatten)]
    pub(super) body: Written,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

/// The reason why there is no response.
#[derive(Serialize)]
pub(super) struct Failed {
    pub(super) kind: &'static str,
    pub(super) detail: &'static str,
}

/// Bytes as text, or in base64 where they are not UTF-8.
#[derive(Default, Serialize)]
pub(super) struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

impl Written {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { body: Some(text), body_base64: None },
            Err(error) => Self { body: None, body_base64: Some(BASE64_STANDARD.encode(error.as_bytes())) },
        }
    }
}

/// A value as a line, with its line break.
pub(super) fn text(value: &impl Serialize) -> String {
    // Plain data: texts, numbers and lists.
    printable::json(&serde_json::to_string(value).unwrap_or_default()) + "\n"
}
