//! The way of counting that explains most responses to each key of a run, and the responses that contradict it.

use serde::{Deserialize, Serialize};

use super::KeyAlias;
use animal_store_rules::limits::Limiter;

/// The way of counting that explains most responses to a key.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Counting {
    /// The key, by its role.
    pub key: KeyAlias,
    /// The way of counting in words.
    pub explanation: String,
    /// The number of responses that contradict the way of counting.
    pub unexplained: usize,
    /// The first response that contradicts the way of counting.
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
    /// The way of counting with the responses that contradict it, in a sentence.
    pub fn sentence(&self) -> String {
        let Counting { explanation, unexplained, .. } = self;
        let Some(Unexplained { exchange, expected, found }) = &self.first else {
            return format!("explained as {explanation}");
        };
        let contradict = match unexplained {
            1 => "one response contradicts",
            count => &format!("{count} responses contradict"),
        };
        format!(
            "the nearest explanation is {explanation}; {contradict} it, first exchange {exchange}: expected {expected}, found {found}"
        )
    }
}

/// The way of counting of each key that got a response, if there is one with a limit.
pub(crate) fn of_keys(limiter: &Limiter<'_>) -> Vec<Counting> {
    let mut counting = Vec::new();
    for (key, limits) in [KeyAlias::Main, KeyAlias::Quota].into_iter().zip(limiter.keys()) {
        if limits.answers().is_empty() {
            continue;
        }
        let explanation = limits.explanation();
        let best = explanation.hypothesis;
        if best.figures.minute.or(best.figures.day).is_none() {
            continue;
        }
        let first = explanation.findings.first().map(|finding| Unexplained {
            exchange: finding.entries[0].exchange.number,
            expected: finding.expected().to_string(),
            found: finding.found().to_string(),
        });
        counting.push(Counting { key, explanation: best.to_string(), unexplained: explanation.findings.len(), first });
    }
    counting
}
