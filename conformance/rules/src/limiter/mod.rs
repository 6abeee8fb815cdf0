//! Facts about the rate limit of each key, derived from the history once.
//!
//! Everything that reasons about rate-limit headers lives here, a file for each fact; rules, observers, probes and pacing use
//! it. Nothing here judges. The tolerances for clocks and rounding are in [`crate::tolerance`].

mod anonymous;
mod arrival;
mod bans;
mod copies;
mod cost;
mod counting;
mod key;
mod minute;
mod parts;
mod plan_limits;
mod recovery;
mod shared;
mod traffic;

pub use anonymous::Anonymous;
pub use arrival::Arrival;
pub use cost::Costly;
pub(crate) use key::one_after_another;
pub use key::{Answer, KeyLimits};
pub use shared::SpentByAnother;

use crate::catalogue::plan::PlanLimits;
use crate::history::{Entry, History};

/// The facts about the limits of every key.
#[derive(Debug)]
pub struct Limiter<'h> {
    keys: Vec<KeyLimits<'h>>,
    anonymous: Anonymous,
}

impl<'h> Limiter<'h> {
    /// The facts that a history shows.
    #[must_use]
    pub fn new(history: &'h History<'h>) -> Limiter<'h> {
        let mut by_key = vec![Vec::new(); history.context.keys.len()];
        for entry in &history.entries {
            if let Some(of_key) = entry.key().and_then(|key| by_key.get_mut(key)) {
                of_key.push(entry);
            }
        }
        Limiter {
            keys: by_key.iter().enumerate().map(|(key, entries)| KeyLimits::new(history, key, entries)).collect(),
            anonymous: Anonymous::new(history),
        }
    }

    /// The facts about each key.
    #[must_use]
    pub fn keys(&self) -> &[KeyLimits<'h>] {
        &self.keys
    }

    /// What callers without a valid key are allowed.
    #[must_use]
    pub fn anonymous(&self) -> &Anonymous {
        &self.anonymous
    }

    /// The facts about the key with this index in the context.
    #[must_use]
    pub fn key(&self, index: usize) -> Option<&KeyLimits<'h>> {
        self.keys.get(index)
    }

    /// The facts about the key that a request came with, if it was a valid one in the described form.
    #[must_use]
    pub fn of(&self, entry: &Entry<'_>) -> Option<&KeyLimits<'h>> {
        self.key(entry.key()?)
    }

    /// The limits of a key's plan, as far as they are known.
    #[must_use]
    pub fn plan_limits(&self, index: usize) -> Option<PlanLimits> {
        self.key(index)?.plan_limits()
    }
}
