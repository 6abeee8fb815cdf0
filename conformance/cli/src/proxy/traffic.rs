//! The pending requests, and the time.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use animal_store_conformance::http::Clock;

/// The pending requests. Times never run back: a client that waits must not seem to have been early because a clock was set back.
#[derive(Debug)]
pub(super) struct Traffic {
    clock: Clock,
    began: Timestamp,
    begun: Instant,
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    /// The time at which each pending request was sent, with its number.
    sent: BTreeSet<(Timestamp, u64)>,
}

/// A pending request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    pub(super) sent_at: Timestamp,
}

impl Traffic {
    pub(super) fn new(clock: Clock) -> Traffic {
        let (began, begun) = (clock.now(), clock.instant());
        Traffic { clock, began, begun, under_way: Mutex::default() }
    }

    /// The time.
    pub(super) fn now(&self) -> Timestamp {
        let passed = self.clock.instant().duration_since(self.begun);
        self.began.saturating_add(SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX)).unwrap_or(self.began)
    }

    /// Notes that a request is pending, which arrived at this time. It may have waited until the request before it was answered.
    pub(super) fn begin(&self, arrived: Timestamp) -> Ticket {
        let mut under_way = self.lock();
        // This is within the lock, so that the horizon takes account of every request that was sent before it.
        let sent_at = arrived.min(self.now());
        let number = under_way.next;
        under_way.next += 1;
        under_way.sent.insert((sent_at, number));
        Ticket { number, sent_at }
    }

    /// Notes that a request is complete. Its exchange has been passed on for judging by then.
    pub(super) fn end(&self, ticket: Ticket) {
        self.lock().sent.remove(&(ticket.sent_at, ticket.number));
    }

    /// The time before which every request that was sent is complete.
    pub(super) fn horizon(&self) -> Timestamp {
        let under_way = self.lock();
        under_way.sent.first().map_or_else(|| self.now(), |(sent_at, _)| *sent_at)
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        // Plain data, consistent at any time.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_when_the_earliest_request_under_way_was_sent() {
        let traffic = Traffic::new(Clock::stepping());
        let (first, second) = (traffic.begin(traffic.now()), traffic.begin(traffic.now()));
        assert!(second.sent_at > first.sent_at);
        assert_eq!(traffic.horizon(), first.sent_at);
        traffic.end(first);
        assert_eq!(traffic.horizon(), second.sent_at);
        traffic.end(second);
        assert!(traffic.horizon() > second.sent_at);
    }
}
