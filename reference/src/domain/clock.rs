//! The server's clock, the only source of the time of day.
//!
//! A clock can be started at any time, so that a client author can watch the removal of
//! `GET /pets/{petId}` before it happens. From there it runs on like any other clock. Timeouts do not
//! use it, because they depend on elapsed time, not on the date.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};

/// A source of the current time, and a way to wait by it.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

/// The time of a server whose clock another program controls.
pub trait TimeSource: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Completes when this duration has passed by this source.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

#[derive(Clone, Debug)]
enum Kind {
    System,
    /// A clock that showed this time at this moment.
    Started(Timestamp, Instant),
    External(Arc<dyn TimeSource>),
}

impl Clock {
    /// The machine's own clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Kind::System)
    }

    /// A clock that shows `start` now and runs on from there. A time before 1970 counts as 1970.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self(Kind::Started(start.max(Timestamp::UNIX_EPOCH), Instant::now()))
    }

    /// [`Clock::starting_at`] the given time, or the machine's clock without one.
    #[must_use]
    pub fn from_start(start: Option<Timestamp>) -> Self {
        start.map_or_else(Self::system, Self::starting_at)
    }

    /// A clock that another program controls. A program that embeds a server can let the server's time pass faster
    /// than its own.
    #[must_use]
    pub fn controlled(source: impl TimeSource + 'static) -> Self {
        Self(Kind::External(Arc::new(source)))
    }

    /// The current Unix time in whole seconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        u64::try_from(self.timestamp().as_second()).unwrap_or(0)
    }

    /// The current time, as exactly as it is known.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        match &self.0 {
            Kind::System => Timestamp::now(),
            Kind::External(source) => source.now(),
            Kind::Started(start, since) => {
                let passed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Waits until this duration has passed by this clock.
    pub async fn sleep(&self, duration: Duration) {
        match &self.0 {
            Kind::External(source) => source.sleep(duration).await,
            _ => tokio::time::sleep(duration).await,
        }
    }
}

/// The HTTP date (IMF-fixdate, RFC 9110 section 5.6.7) of a Unix time in seconds, as a header value.
#[must_use]
pub fn http_date(unix_seconds: u64) -> HeaderValue {
    let time = i64::try_from(unix_seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&time.unwrap_or(Timestamp::MAX));
    let text = text.ok().and_then(|text| HeaderValue::from_str(&text).ok());
    text.unwrap_or_else(|| HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"))
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

    #[test]
    fn dates_are_in_the_format_of_http() {
        assert_eq!(http_date(1_922_659_200), "Thu, 05 Dec 2030 00:00:00 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(u64::MAX), http_date(253_402_207_200), "the last one that can be written");
    }
}
