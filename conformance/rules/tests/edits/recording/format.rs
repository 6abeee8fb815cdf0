//! How a recorded trace stands in a file: what records one and what loads one agree here.
//!
//! A file is JSON lines. The first line says what was judged and how; every further line is one exchange. Bodies stand as text, so
//! that no digit and no blank of them is lost.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The version of the format. A file of another one is to be recorded anew.
pub(crate) const FORMAT: &str = "animal-store-trace/1";

/// The first line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) format: String,
    pub(crate) about: String,
    pub(crate) base_url: String,
    pub(crate) keys: Vec<String>,
    pub(crate) per_minute: u64,
    pub(crate) per_day: u64,
    pub(crate) category_id: i64,
    pub(crate) name_mark: Option<String>,
}

/// One exchange.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) step: String,
    pub(crate) sent_at: String,
    pub(crate) received_at: String,
    pub(crate) request: Asked,
    pub(crate) response: Answered,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorization: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<String>,
    /// Instead of `body`, where the bytes are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body_base64: Option<String>,
    /// Whether it was sent on the connection that is kept open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) kept: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Where a recorded trace stands: two crates of the workspace look for it, from different depths.
pub(crate) fn path(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|folder| folder.join("fixtures").is_dir());
    root.expect("a folder with fixtures above the crate").join("fixtures/traces").join(format!("{name}.jsonl"))
}
