//! Counting: which way of counting explains what the keys of a run were answered, and what it does not explain.

use serde::{Deserialize, Serialize};

use super::Report;
use super::key_alias::KeyAlias;
use animal_store_rules::limits::{KeyLimits, Limiter};
use animal_store_rules::verdict::Status;

/// The way of counting that explains most of what a key was answered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Counting {
    /// The key.
    pub key: KeyAlias,
    /// The way of counting in words.
    pub explanation: String,
    /// How many responses it does not explain.
    pub unexplained: usize,
    /// The first of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Unexplained>,
}

/// A response that a way of counting does not explain.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unexplained {
    /// The number of the exchange.
    pub exchange: usize,
    /// The response that would agree with the way of counting, in words.
    pub expected: String,
    /// The response itself, in words.
    pub found: String,
}

impl Counting {
    /// The way of counting with what it does not explain, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Counting { explanation, unexplained, .. } = self;
        match &self.first {
            None => format!("explained as {explanation}"),
            Some(Unexplained { exchange, expected, found }) => format!(
                "the nearest explanation is {explanation}; {} it, exchange {exchange} first: {found}, where {expected} was expected",
                if *unexplained == 1 {
                    "one response contradicts".to_owned()
                } else {
                    format!("{unexplained} responses contradict")
                },
            ),
        }
    }
}

/// How the requests of each key are counted.
pub(crate) fn of_keys(limiter: &Limiter<'_>) -> Vec<Counting> {
    let of_key = |(key, limits): (KeyAlias, &KeyLimits<'_>)| {
        let explanation = limits.explanation();
        let best = explanation.hypothesis.filter(|best| best.figures.minute.or(best.figures.day).is_some())?;
        let first = explanation.findings.first().map(|finding| Unexplained {
            exchange: finding.entries[0].exchange.number,
            expected: finding.expected(),
            found: finding.found(),
        });
        Some(Counting { key, explanation: best.to_string(), unexplained: explanation.findings.len(), first })
    };
    let roles = [KeyAlias::Main, KeyAlias::Quota];
    roles
        .into_iter()
        .zip(limiter.keys())
        .filter(|(_, limits)| !limits.answers().is_empty())
        .filter_map(of_key)
        .collect()
}

impl Report {
    /// Whether a requirement on the limit or its header fields is broken.
    pub(super) fn breaks_a_limit(&self) -> bool {
        let is_of_limits = |id: &str| id.starts_with("headers.") || id.starts_with("quota.");
        self.requirements.iter().any(|requirement| requirement.status == Status::Fail && is_of_limits(&requirement.id))
    }
}
