//! The server's clock, the only source of the time of day.
//!
//! A clock can be started at any time, so that a client author can watch the removal of
//! `GET /pets/{petId}` before it happens. From there it runs on like any other clock. Timeouts do not
//! use it, because they depend on elapsed time, not on the date.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

/// A source of the current time, and a way to wait by it.
#[derive(Clone, Debug)]
pub struct Clock(Arc<dyn TimeSource>);

/// The time of a server whose clock another program controls.
pub trait TimeSource: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Completes when this duration has passed by this source.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clock, ahead by a duration.
#[derive(Debug)]
struct Ahead(SignedDuration);

impl TimeSource for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.0).unwrap_or(Timestamp::MAX)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl Clock {
    /// The machine's own clock.
    pub fn system() -> Self {
        Self::controlled(Ahead(SignedDuration::ZERO))
    }

    /// A clock that shows `start` now and runs on from there. A time before 1970 counts as 1970.
    pub fn starting_at(start: Timestamp) -> Self {
        Self::controlled(Ahead(start.max(Timestamp::UNIX_EPOCH).duration_since(Timestamp::now())))
    }

    /// A clock that another program controls. A program that embeds a server can let the server's time pass faster
    /// than its own.
    pub fn controlled(source: impl TimeSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// The current Unix time in whole seconds.
    pub fn now(&self) -> u64 {
        u64::try_from(self.timestamp().as_second()).unwrap_or(0)
    }

    /// The current time, as exactly as it is known.
    pub fn timestamp(&self) -> Timestamp {
        self.0.now()
    }

    /// Waits until this duration has passed by this clock.
    pub async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_started_clock_shows_its_start_and_runs_on() {
        let start: Timestamp = "2030-12-04T23:59:50Z".parse().expect("a timestamp");
        let clock = Clock::starting_at(start);
        let first = clock.timestamp();
        assert!(first >= start && first.duration_since(start) < SignedDuration::from_mins(1), "{first}");
        std::thread::sleep(Duration::from_millis(2));
        assert!(clock.timestamp().duration_since(first) >= SignedDuration::from_millis(2));
    }

    /// A time that passes by waiting alone.
    #[derive(Debug)]
    struct Waited(Mutex<Timestamp>);

    impl TimeSource for Waited {
        fn now(&self) -> Timestamp {
            *self.0.lock().expect("no panic")
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            *self.0.lock().expect("no panic") += duration;
            Box::pin(std::future::ready(()))
        }
    }

    impl Clock {
        /// A clock that only moves when a test waits by it.
        pub(crate) fn frozen(now: u64) -> Self {
            let now = Timestamp::from_second(now.cast_signed()).expect("a time");
            Self::controlled(Waited(Mutex::new(now)))
        }
    }

    #[tokio::test]
    async fn a_controlled_clock_shows_the_time_of_its_source_and_waits_by_it() {
        let clock = Clock::frozen(1_922_659_200);
        clock.sleep(Duration::from_millis(3_600_250)).await;
        assert_eq!((clock.now(), clock.timestamp().subsec_millisecond()), (1_922_662_800, 250));
    }
}
