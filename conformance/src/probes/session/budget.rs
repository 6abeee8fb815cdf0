//! The budget of a run: its requests, its time, the memory for responses, and the patience with a silent server.

use std::time::Duration;

use animal_store_rules::trace::exchange::{FailureKind, Outcome};
use animal_store_rules::trace::json::{MAX_VALUES, count_values};

use super::Stop;
use crate::options::Budget;

/// The memory limit for all responses of a run, in bytes: a candidate must not be able to exhaust the judge's memory.
const MAX_MEMORY: usize = 128 * 1024 * 1024;

/// [`MAX_MEMORY`] in mebibytes.
pub(super) const MAX_MEMORY_MIB: usize = MAX_MEMORY / 1024 / 1024;

/// The approximate memory of a parsed JSON value, in bytes.
const JSON_VALUE_BYTES: usize = 64;

/// The approximate memory of a header field beside its texts, in bytes.
const HEADER_FIELD_BYTES: usize = 64;

/// The maximum number of requests that time out. Each costs the whole timeout, and more would show nothing new.
pub(super) const MAX_TIMEOUTS: usize = 10;

/// The memory that the outcomes of a run take, and its timeouts.
#[derive(Default)]
pub(super) struct Ledger {
    memory: usize,
    timeouts: usize,
}

impl Ledger {
    /// Allows a run to have this many requests in all, at this time of the run.
    ///
    /// # Errors
    ///
    /// [`Stop`] with the part of the budget that is exhausted.
    pub(super) fn allow(&self, budget: &Budget, requests: usize, elapsed: Duration) -> Result<(), Stop> {
        if requests > budget.max_requests {
            Err(Stop::Requests(budget.max_requests))
        } else if elapsed >= budget.max_duration {
            Err(Stop::Time(budget.max_duration))
        } else if self.memory > MAX_MEMORY {
            Err(Stop::Bodies)
        } else if self.timeouts >= MAX_TIMEOUTS {
            Err(Stop::Silence)
        } else {
            Ok(())
        }
    }

    /// Charges the outcome of a request.
    pub(super) fn charge(&mut self, outcome: &Outcome) {
        match outcome {
            // The raw body and the parsed one, and the header fields, which the report copies.
            Outcome::Response(response) => {
                let values = count_values(&response.body).min(MAX_VALUES);
                let fields = response.headers.iter();
                let head: usize = fields.map(|(name, value)| HEADER_FIELD_BYTES + name.len() + value.len()).sum();
                self.memory += 2 * (response.body.len() + head) + JSON_VALUE_BYTES * values;
            }
            Outcome::Failed(failure) => self.timeouts += usize::from(failure.kind == FailureKind::Timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use animal_store_rules::trace::exchange::Response;

    use super::*;

    #[test]
    fn heads_of_responses_use_up_the_memory_as_bodies_do() {
        let (mut ledger, budget) = (Ledger::default(), Budget::default());
        let long = vec![("x-long".to_owned(), "a".repeat(400 * 1024))];
        let many = vec![("a".to_owned(), String::new()); 8 * 1024];
        for headers in [long, many].into_iter().cycle().take(400) {
            let response = Response { status: 200, headers, body: Vec::new(), cut: false };
            ledger.charge(&Outcome::Response(response));
        }
        assert!(matches!(ledger.allow(&budget, 1, Duration::ZERO), Err(Stop::Bodies)));
    }
}
