//! Requests that are repeated alone, because their outcome need not be the service's own: a kept connection ended, an intermediary answered,
//! no connection could be made, or the response did not arrive in time.
//!
//! An answer of the service to the repetition is judged. Without one the service itself is silent, and that is judged; or the
//! intermediary answers everything in its place, and the run ends.

use std::time::Duration;

use animal_store_rules::trace::answerer::{self, Doubt};
use animal_store_rules::trace::exchange::{Connection, Exchange, Request};
use animal_store_rules::trace::knowledge::Answerer;

use super::{Session, Stop, bearing};

/// The number of requests whose repetitions got no answer, after which no more are repeated: the service is at fault, and that is
/// shown.
const PERSISTENT: usize = 3;

/// The waits for an intermediary to reach the service again.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// The number of requests that may be lost with the connection that was kept for them, before every request gets one of its own.
const LOST: usize = 2;

/// The number of requests on a kept connection that may time out: one more than may be a coincidence.
const LATE: usize = 3;

/// The requests of a run that were repeated.
#[derive(Debug, Default)]
pub(super) struct Repetitions {
    lost_on_kept: usize,
    late_on_kept: usize,
    persistent: usize,
}

impl Session<'_> {
    /// The request on the connection that is kept open, unless the server does not keep any or does not answer on it.
    pub fn on_kept_connection(&self, request: Request) -> Request {
        let Repetitions { lost_on_kept, late_on_kept, .. } = self.repetitions;
        if lost_on_kept < LOST && late_on_kept < LATE { request.kept() } else { request }
    }

    /// Settles the request at this place, which is repeated if its outcome is in doubt. Returns the place of the exchange that
    /// answers it: its own, or that of a repetition.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is exhausted, or an intermediary answers everything.
    pub(super) async fn settled(&mut self, mut place: usize) -> Result<usize, Stop> {
        if self.doubt(place) == Some(Doubt::KeptConnection) {
            self.repetitions.lost_on_kept += 1;
            self.mark(place, Doubt::KeptConnection.answerer());
            place = self.repeat(place).await?;
        }
        let Some(doubt) = self.doubt(place) else { return Ok(place) };
        let is_kept = self.exchange(place).request.connection == Connection::Kept;
        self.repetitions.late_on_kept += usize::from(doubt == Doubt::Late && is_kept);
        // Before the first answer of the service, the message about the target comes soon.
        let is_hopeless = !self.is_served() && (place > 0 || doubt == Doubt::NoConnection);
        if is_hopeless || self.repetitions.persistent >= PERSISTENT {
            return Ok(place);
        }
        self.mark(place, doubt.answerer());
        if doubt != Doubt::Late {
            self.wait(PAUSES[0], "the service to be reached again").await?;
        }
        let again = self.repeat(place).await?;
        match self.doubt(again) {
            None => Ok(again),
            Some(Doubt::Intermediary) if self.is_served() => self.behind_intermediary([place, again]).await,
            Some(_) => {
                self.repetitions.persistent += 1;
                self.mark(place, Answerer::Service);
                Ok(again)
            }
        }
    }

    /// Settles a request that an intermediary answered twice, and returns the place of its answer. If the service answers other
    /// requests meanwhile, the failure is the one of this request, and is the fault of the service.
    async fn behind_intermediary(&mut self, failed: [usize; 2]) -> Result<usize, Stop> {
        for place in failed {
            self.mark(place, Answerer::Intermediary);
        }
        for pause in PAUSES {
            // A list that is not part of the plan.
            let list = bearing(Request::new("GET", "/pets").query("limit=100"), &self.asking_key());
            let step = std::mem::take(&mut self.step);
            let other = self.transmit(vec![list]).await;
            self.step = step;
            let other = other?;
            if self.doubt(other).is_none() {
                let last = self.repeat(failed[0]).await?;
                if self.doubt(last).is_some() {
                    self.repetitions.persistent += 1;
                    failed.into_iter().for_each(|place| self.mark(place, Answerer::Service));
                }
                return Ok(last);
            }
            self.mark(other, Answerer::Intermediary);
            self.wait(pause, "the service to be reached again").await?;
        }
        // Of requests at the same time, the others have got no answer of the service either.
        for place in failed[0]..self.trace.exchanges.len() {
            if self.doubt(place) == Some(Doubt::Intermediary) {
                self.mark(place, Answerer::Intermediary);
            }
        }
        let response = self.exchange(failed[1]).response();
        let (name, status) =
            response.map_or_else(Default::default, |response| (answerer::name_of(response), response.status));
        Err(Stop::Intermediary(name, status))
    }

    /// The reason why the outcome at this place may not be the service's own, if there is one.
    fn doubt(&self, place: usize) -> Option<Doubt> {
        let exchange = self.exchange(place);
        match Doubt::of(exchange, true)? {
            Doubt::Intermediary if !answerer::has_limits(&self.trace.exchanges) => None,
            // On the first request of a connection, the service has to answer.
            Doubt::KeptConnection => {
                let is_of_connection = |earlier: &Exchange| {
                    let Request { connection, replica, .. } = earlier.request;
                    connection == Connection::Kept
                        && replica == exchange.request.replica
                        && earlier.response().is_some()
                };
                self.trace.exchanges[..place].iter().any(is_of_connection).then_some(Doubt::KeptConnection)
            }
            doubt => Some(doubt),
        }
    }

    /// Returns true if the service has answered a request of this run.
    fn is_served(&self) -> bool {
        let answered = |exchange: &Exchange| {
            exchange.service_response().is_some() && Doubt::of(exchange, true) != Some(Doubt::Intermediary)
        };
        self.trace.exchanges.iter().any(answered)
    }

    fn mark(&mut self, place: usize, answerer: Answerer) {
        self.trace.exchanges[place].known.answerer = answerer;
    }

    /// Sends the request at this place again, on a connection of its own. A creation gets a new name, because the service may have carried
    /// out the first one, and names may have to be unique.
    async fn repeat(&mut self, place: usize) -> Result<usize, Stop> {
        let request = Request { connection: Connection::Own, ..self.exchange(place).request.clone() };
        let request = self.renewed(request);
        self.transmit(vec![request]).await
    }
}
