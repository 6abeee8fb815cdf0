//! The wire of a session: the HTTP client, the clock, and the addresses of the service.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;

use super::Stop;
use super::spread::Spread;
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::interrupt::Interrupt;
use animal_store_rules::trace::exchange::{Outcome, Request};

/// A request with its outcome, the time before it was sent, and the time when its outcome was complete.
pub(super) struct Completed {
    pub(super) request: Request,
    pub(super) outcome: Outcome,
    pub(super) sent_at: Timestamp,
    pub(super) received_at: Timestamp,
}

/// The connection of a session with its target.
pub(super) struct Wire<'r> {
    pub(super) client: &'r Client,
    pub(super) clock: Clock,
    pub(super) interrupt: Interrupt,
    /// The turns of the addresses, if the service has several.
    pub(super) spread: Option<Spread>,
    started: Instant,
    /// The least time between two requests.
    pub(super) interval: Duration,
    /// The time of the run at which the next request may be sent.
    next: Duration,
}

impl<'r> Wire<'r> {
    pub(super) fn new(client: &'r Client, clock: Clock, spread: Option<Spread>, interval: Duration) -> Wire<'r> {
        let (started, interrupt) = (clock.instant(), Interrupt::default());
        Wire { client, started, clock, interrupt, spread, interval, next: Duration::ZERO }
    }

    /// The time since the session began.
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.instant().duration_since(self.started)
    }

    /// Sends requests concurrently, each to the address whose turn it is, and returns their outcomes in the same order. `ids` are the
    /// identifiers of the requests, which their `X-Request-Id` fields have.
    ///
    /// # Errors
    ///
    /// [`Stop::Interrupted`]; the requests in flight are not recorded then.
    pub(super) async fn send(
        &mut self,
        mut requests: Vec<Request>,
        ids: Vec<Option<String>>,
    ) -> Result<Vec<Completed>, Stop> {
        if let Some(spread) = &mut self.spread {
            requests = requests.into_iter().map(|request| spread.place(request)).collect();
        }
        let now = if self.interval.is_zero() { Duration::ZERO } else { self.elapsed() };
        let mut sent = Vec::with_capacity(requests.len());
        for (request, id) in requests.into_iter().zip(ids) {
            let due = self.next.max(now);
            self.next = due + self.interval;
            let (client, clock) = (self.client, self.clock.clone());
            sent.push(async move {
                let wait = due.saturating_sub(now);
                if !wait.is_zero() {
                    clock.sleep(wait).await;
                }
                let sent_at = clock.now();
                let outcome = client.send_as(&request, id.as_deref()).await;
                Completed { request, outcome, sent_at, received_at: clock.now() }
            });
        }
        tokio::select! {
            biased;
            () = self.interrupt.raised() => Err(Stop::Interrupted),
            sent = join_all(sent) => Ok(sent),
        }
    }

    /// Sleeps for this time, or until the interrupt is raised.
    ///
    /// # Errors
    ///
    /// [`Stop::Interrupted`].
    pub(super) async fn sleep(&self, time: Duration) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = self.interrupt.raised() => Err(Stop::Interrupted),
            () = self.clock.sleep(time) => Ok(()),
        }
    }
}
