//! The description that a recording contains of itself.

use std::borrow::Cow;

use animal_store_rules::catalogue::catalogue;
use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::{Context, LeftOut};
use serde::{Deserialize, Serialize};

use super::{FORMAT, Unreadable};

/// The description of a recording: the first line of the judge's own format.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The name and version of the format: [`FORMAT`].
    pub format: String,
    /// The program that wrote the recording.
    pub writer: Writer,
    /// The digest of the catalogue of requirements that the program judges by.
    pub catalogue: String,
    /// The part of the traffic that the recording contains.
    pub extent: Extent,
    /// The number of exchanges, if it was known when the head was written. A recording with fewer has lost some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<usize>,
    /// The base URL, without a trailing slash.
    pub base_url: String,
    /// Further addresses of the same service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<String>,
    /// The pseudonyms of the keys that are known to be valid, that of the main key first.
    pub keys: Vec<String>,
    /// The limits of the keys' plan, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_limits: Option<PlanLimits>,
    /// The category of the animals that a run creates.
    pub category_id: i64,
    /// Whether the user of the run said that the service knows this category.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vouches_for_category: bool,
    /// Whether the user of the run said that only the run uses the keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_key: bool,
    /// A text that the name of each animal of a run contains and no other name does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_mark: Option<String>,
    /// The parts of a run that were not carried out, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The fixed parts of a run that were not sent to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// The options of the run, as the program that wrote the recording defines them.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub options: serde_json::Value,
}

/// The program that wrote a recording.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Writer {
    /// The name of the program.
    pub name: String,
    /// The version of the program, as in its manifest.
    pub version: String,
}

impl Head {
    /// The head for the recording of a trace. The keys of the context must be pseudonyms.
    #[must_use]
    pub fn of(context: &Context, writer: Writer) -> Head {
        Head {
            format: FORMAT.to_owned(),
            writer,
            catalogue: catalogue().digest().to_owned(),
            extent: context.extent,
            exchanges: None,
            base_url: context.base_url.clone(),
            replicas: context.replicas.clone(),
            keys: context.keys.iter().map(|key| key.reveal().to_owned()).collect(),
            plan_limits: context.plan_limits,
            category_id: context.category_id,
            vouches_for_category: context.vouches_for_category,
            exclusive_key: context.exclusive_key,
            name_mark: context.name_mark.clone(),
            left_out: context.left_out.clone(),
            unfinished: context.unfinished.iter().map(|part| part.to_string()).collect(),
            options: serde_json::Value::Null,
        }
    }

    /// The context of the recorded trace.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if the format has another version, or a key cannot be read.
    pub fn context(&self) -> Result<Context, Unreadable> {
        if self.format != FORMAT {
            return Err(Unreadable::Version(self.format.clone()));
        }
        let wrong = |problem: String| Unreadable::Text { line: 1, column: 1, problem };
        let keys = self.keys.iter().map(|key| ApiKey::new(key).map_err(|error| wrong(format!("keys: {error}"))));
        Ok(Context {
            extent: self.extent,
            base_url: self.base_url.clone(),
            replicas: self.replicas.clone(),
            keys: keys.collect::<Result<_, _>>()?,
            plan_limits: self.plan_limits,
            category_id: self.category_id,
            vouches_for_category: self.vouches_for_category,
            exclusive_key: self.exclusive_key,
            name_mark: self.name_mark.clone(),
            left_out: self.left_out.clone(),
            unfinished: self.unfinished.iter().cloned().map(Cow::Owned).collect(),
        })
    }
}
