//! A clock that a test sets, moves and stops.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use crate::state::lock;
use animal_store_reference::clock::TimeSource;

/// A clock that can be set. Its clones are the same clock.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<Mutex<Shown>>);

#[derive(Debug)]
struct Shown {
    at: Timestamp,
    /// The time of the machine when the clock showed `at`; `None` while the clock stands.
    since: Option<Instant>,
}

impl Shown {
    fn now(&self) -> Timestamp {
        let passed = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        SignedDuration::try_from(passed)
            .ok()
            .and_then(|passed| self.at.checked_add(passed).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

impl TestClock {
    /// A clock that shows this time and runs on from there.
    pub(crate) fn starting_at(at: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Shown { at, since: Some(Instant::now()) })))
    }

    /// Returns true if the clock stands.
    pub(crate) fn is_frozen(&self) -> bool {
        lock(&self.0).since.is_none()
    }

    /// Sets the time of the clock. A running clock runs on from there.
    pub(crate) fn set(&self, at: Timestamp) {
        let mut shown = lock(&self.0);
        *shown = Shown { at, since: shown.since.map(|_| Instant::now()) };
    }

    /// Moves the clock on by this time. Returns false if the result would be too late for a timestamp.
    pub(crate) fn advance(&self, by: SignedDuration) -> bool {
        let mut shown = lock(&self.0);
        let Ok(at) = shown.now().checked_add(by) else { return false };
        *shown = Shown { at, since: shown.since.map(|_| Instant::now()) };
        true
    }

    /// Stops the clock.
    pub(crate) fn freeze(&self) {
        let mut shown = lock(&self.0);
        *shown = Shown { at: shown.now(), since: None };
    }

    /// Lets the clock run on.
    pub(crate) fn run(&self) {
        let mut shown = lock(&self.0);
        *shown = Shown { at: shown.now(), since: Some(Instant::now()) };
    }
}

impl TimeSource for TestClock {
    fn now(&self) -> Timestamp {
        lock(&self.0).now()
    }

    /// Waits by the machine's time, because a wait by a clock that stands would never end.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_clock_that_runs_goes_on_from_where_it_was_set() {
        let clock = TestClock::starting_at(time("2030-01-01T00:00:00Z"));
        clock.freeze();
        clock.set(time("2040-01-01T00:00:00Z"));
        clock.run();
        let deadline = Instant::now() + Duration::from_secs(10);
        while clock.now() == time("2040-01-01T00:00:00Z") {
            assert!(Instant::now() < deadline, "it does not run");
        }
        assert!(clock.now() < time("2040-01-01T00:01:00Z"));
        clock.set(time("2020-01-01T00:00:00Z"));
        assert!(!clock.is_frozen() && clock.now() < time("2020-01-01T00:01:00Z"));
    }
}
