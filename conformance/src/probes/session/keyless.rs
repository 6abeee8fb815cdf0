//! Requests without a valid key, which may have an allowance of their own.

use super::{Session, Stop};
use crate::http::pacing::{self, Advice};
use animal_store_rules::history::History;
use animal_store_rules::limits::Anonymous;
use animal_store_rules::request::{Credential, Defect, credential};
use animal_store_rules::trace::exchange::{Exchange, Request};

/// The number of times that callers without a key may exhaust an allowance of theirs. The run waits for all but the last of them.
const ALLOWANCES: usize = 5;

impl Session<'_> {
    /// Sends a request without a valid key. If callers without a key have an allowance and it is exhausted, waits as announced and
    /// retries; after some such waits, nothing more is sent without a key. Returns the exchange, or none if the allowance remained
    /// exhausted. A run that sends no unknown keys sends only requests without any credential.
    pub async fn ask_without_key(&mut self, request: Request) -> Result<Option<Exchange>, Stop> {
        let is_unknown = credential(&request, &self.trace().context) != Credential::Invalid(Defect::Absent);
        if is_unknown && !self.sends_unknown_keys {
            return Ok(None);
        }
        while self.asking.exhausted_allowances < ALLOWANCES {
            let jitter = self.random.f64();
            let exchange = self.send(request.clone()).await?.clone();
            if exchange.status() != Some(429) || !is_over_allowance(&History::without_bodies(self.trace()), &exchange) {
                return Ok(Some(exchange));
            }
            self.asking.exhausted_allowances += 1;
            match pacing::after_refusal(&exchange, 0, jitter) {
                Advice::Wait(time) if self.asking.exhausted_allowances < ALLOWANCES && time < self.time_left() => {
                    self.wait(time, "the allowance of callers without a key to reset").await?;
                }
                _ => {
                    self.asking.exhausted_allowances = ALLOWANCES;
                    let reason = "callers without a key have an allowance of their own, which was exhausted";
                    self.leave_out("auth.", reason);
                    self.leave_unfinished(format!("the requests without a key ({reason})"));
                }
            }
        }
        Ok(None)
    }
}

/// Returns true if an exchange of a history was refused because the allowance of callers without a key is exhausted.
pub(super) fn is_over_allowance(history: &History<'_>, refused: &Exchange) -> bool {
    let refused = history.entries.get(refused.number.saturating_sub(1));
    refused.is_some_and(|refused| Anonymous::new(history).explains(refused))
}
