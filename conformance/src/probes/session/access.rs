//! The end of the access to a service: a key that was revoked, or an address that is locked out.
//!
//! A refusal of a valid key is a mistake if the key is accepted again, and lawful if it is not. So after one the run sends nothing but a few
//! spaced requests that show which it is. Requests without a valid key may have an allowance of their own.

use std::time::Duration;

use super::{Session, Stop, bearing};
use crate::http::pacing::{self, Advice};
use animal_store_rules::history::{AccessEnd, History};
use animal_store_rules::limits::Anonymous;
use animal_store_rules::request::{Credential, Defect, credential, credential_of};
use animal_store_rules::trace::exchange::{Exchange, Request};

/// The waits before the requests that show whether the access has ended.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// The number of times that a likely lock-out may turn out to be none, after which none is looked for.
const MISTAKEN: usize = 2;

/// The number of times that callers without a key may exhaust an allowance of theirs before a run sends nothing more without a key, and
/// before it sends nothing more that the seed has drawn. The run waits after each of them but the last.
const ALLOWANCES: usize = 8;
const ALLOWANCES_OF_DRAWN: usize = 5;

/// The reason for which nothing more is sent without a key.
pub(crate) const EXHAUSTED_ALLOWANCE: &str =
    "callers without a key have an allowance of their own, which was exhausted";

impl Session<'_> {
    /// Ends the run if the exchanges from this place on show that the access to the service has ended. If they make it likely, a few more
    /// requests show whether it has.
    pub(super) async fn heed_access(&mut self, from: usize) -> Result<(), Stop> {
        let Some(end) = self.likely_end(from) else { return Ok(()) };
        // The last request that succeeded, because a key may be refused for one operation only, which is a mistake.
        let is_read = |exchange: &&Exchange| exchange.request.method == "GET" && exchange.status() == Some(200);
        let accepted = self.trace.exchanges[..from].iter().rev().find(is_read).map(|last| &last.request);
        let (path, query) = accepted.map_or(("/pets", None), |last| (last.path.as_str(), last.query.clone()));
        let accepted = Request { query, ..Request::new("GET", path) };
        let step = std::mem::take(&mut self.step);
        for pause in PAUSES {
            self.wait(pause, "the service to accept the key again").await?;
            let context = &self.trace.context;
            let was_keyless = self.trace.exchanges.last().is_some_and(|last| credential_of(last, context).is_invalid());
            let key = match end {
                AccessEnd::Key { key, .. } => Some(key),
                // A lock-out concerns requests with a key and without, so they are sent in turn.
                AccessEnd::Address { .. } => was_keyless.then(|| self.asking()),
            };
            let request = key.map_or(accepted.clone(), |key| bearing(accepted.clone(), &context.keys[key]));
            let sent = self.transmit(vec![request]).await?;
            self.settled(sent).await?;
            if self.likely_end(sent).is_none() {
                self.asking.mistaken_ends += usize::from(matches!(end, AccessEnd::Address { .. }));
                self.step = step;
                return Ok(());
            }
        }
        self.step = step;
        match History::without_bodies(&self.trace).access.end() {
            Some(end) => Err(Stop::Access(end)),
            None => Ok(()),
        }
    }

    /// The end of the access that the exchanges from this place on make likely.
    fn likely_end(&self, from: usize) -> Option<AccessEnd> {
        // Invalid requests get 400 and 404, and those without a valid key 401.
        let is_refused = |exchange: &Exchange| match credential_of(exchange, &self.trace.context) {
            Credential::Valid(_) => matches!(exchange.status(), Some(401..=403 | 405..=499)),
            _ => matches!(exchange.status(), Some(402..=499)),
        };
        let last = self.trace.exchanges.last().filter(|last| is_refused(last))?;
        if !self.trace.exchanges[from..].iter().any(is_refused) {
            return None;
        }
        let history = History::without_bodies(&self.trace);
        let end = history.access.likely_end()?;
        let is_mistaken = matches!(end, AccessEnd::Address { .. })
            && self.asking.mistaken_ends >= MISTAKEN
            && history.access.end().is_none();
        (!is_mistaken && !is_over_allowance(&history, last)).then_some(end)
    }

    /// Sends a request without a valid key that is part of every run. If callers without a key have an allowance and it is exhausted, waits
    /// as announced and retries; after some such waits, nothing more is sent without a key, and the run is incomplete. Returns the
    /// exchange, or none if nothing was sent. A run that sends no unknown keys sends only requests without any credential.
    pub async fn ask_without_key(&mut self, request: Request) -> Result<Option<Exchange>, Stop> {
        let exchange = self.without_key(&request, ALLOWANCES).await?;
        if exchange.is_none() && self.asking.exhausted_allowances >= ALLOWANCES {
            self.leave_unfinished(format!("the requests without a key ({EXHAUSTED_ALLOWANCE})"));
        }
        Ok(exchange)
    }

    /// Sends a request without a valid key that the seed has drawn, like [`Session::ask_without_key`]. A run without it is complete.
    pub async fn draw_without_key(&mut self, request: Request) -> Result<Option<Exchange>, Stop> {
        self.without_key(&request, ALLOWANCES_OF_DRAWN).await
    }

    /// Sends a request without a valid key, unless callers without one have exhausted this number of allowances.
    async fn without_key(&mut self, request: &Request, allowances: usize) -> Result<Option<Exchange>, Stop> {
        let is_unknown = credential(request, &self.trace.context) != Credential::Invalid(Defect::Absent);
        if is_unknown && !self.options.judging.scope.sends_unknown_keys() {
            return Ok(None);
        }
        while self.asking.exhausted_allowances < allowances {
            let jitter = self.random.f64();
            let exchange = self.send(request.clone()).await?.clone();
            if exchange.status() != Some(429) || !is_over_allowance(&History::without_bodies(&self.trace), &exchange) {
                return Ok(Some(exchange));
            }
            self.asking.exhausted_allowances += 1;
            match pacing::after_refusal(&exchange, 0, jitter) {
                Advice::Wait(time) if time < self.time_left() => {
                    if self.asking.exhausted_allowances < allowances {
                        self.wait(time, "the allowance of callers without a key to reset").await?;
                    }
                }
                _ => self.asking.exhausted_allowances = ALLOWANCES,
            }
        }
        self.leave_out("auth.", EXHAUSTED_ALLOWANCE);
        Ok(None)
    }
}

/// Returns true if an exchange of a history was refused because the allowance of callers without a key is exhausted.
fn is_over_allowance(history: &History<'_>, refused: &Exchange) -> bool {
    let refused = history.entries.get(refused.number.saturating_sub(1));
    refused.is_some_and(|refused| Anonymous::new(history).explains(refused))
}
