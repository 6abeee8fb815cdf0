//! Variations of the reference in this process, whose time passes as the judge's does.

use std::pin::Pin;
use std::time::Duration;

use animal_store_conformance::http::Clock;
use animal_store_reference::clock::{Clock as ServerClock, TimeSource};
use jiff::{SignedDuration, Timestamp};

/// The judge's time, so far ahead.
#[derive(Debug)]
struct Shared {
    clock: Clock,
    ahead: SignedDuration,
}

impl TimeSource for Shared {
    fn now(&self) -> Timestamp {
        self.clock.now() + self.ahead
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.clock.sleep(duration))
    }
}

/// A server's clock that starts at a time and passes as the judge's does.
pub(crate) fn beside(clock: &Clock, start_at: &str) -> ServerClock {
    let start_at: Timestamp = start_at.parse().expect("a time");
    let ahead = start_at.duration_since(clock.now());
    ServerClock::controlled(Shared { clock: clock.clone(), ahead })
}
