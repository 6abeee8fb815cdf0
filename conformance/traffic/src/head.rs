//! The description that a recording contains of itself.

use animal_store_rules::catalogue::catalogue;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::keys::ApiKey;
use serde::{Deserialize, Serialize};

use super::{FORMAT, Unreadable};

/// The description of a recording: the first line of the judge's own format.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The name and version of the format: [`FORMAT`].
    pub format: String,
    /// The program that wrote the recording.
    pub writer: Writer,
    /// The digest of the catalogue of requirements that the program judges by.
    pub catalogue: String,
    /// The number of exchanges, if it was known when the head was written. A recording with fewer has lost some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<usize>,
    /// The pseudonyms of the keys that are known to be valid, that of the main key first.
    pub keys: Vec<String>,
    /// The context of the recorded trace. [`Head::context`] adds the keys.
    #[serde(flatten)]
    pub context: Context,
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
    pub fn of(context: &Context, writer: Writer) -> Head {
        Head {
            format: FORMAT.to_owned(),
            writer,
            catalogue: catalogue().digest().to_owned(),
            exchanges: None,
            keys: context.keys.iter().map(|key| key.reveal().to_owned()).collect(),
            context: context.clone(),
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
        Ok(Context { keys: keys.collect::<Result<_, _>>()?, ..self.context.clone() })
    }
}
