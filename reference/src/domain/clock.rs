//! The server's clock, the only source of the time of day.
//!
//! A clock can be started at any time, so that a client author can watch the removal of
//! `GET /pets/{petId}` before it happens. From there it runs on like any other clock. Timeouts do not
//! use it, because they depend on elapsed time, not on the date.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};

/// A source of the current time, and a way to wait by it.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

/// The time of a server whose clock another program controls.
pub trait TimeSource: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Completes when this duration has passed by this source.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

#[derive(Clone)]
enum Kind {
    System,
    StartedAt {
        /// The time of the clock at `since`, counted from the Unix epoch.
        start: Duration,
        since: Instant,
    },
    External(Arc<dyn TimeSource>),
    #[cfg(test)]
    Frozen(Arc<std::sync::atomic::AtomicU64>),
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
        let start = u64::try_from(start.as_millisecond()).unwrap_or(0);
        Self(Kind::StartedAt { start: Duration::from_millis(start), since: Instant::now() })
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

    /// A clock that only moves when a test moves it.
    #[cfg(test)]
    pub(crate) fn frozen(now: u64) -> Self {
        Self(Kind::Frozen(Arc::new(now.into())))
    }

    /// Moves a frozen clock.
    #[cfg(test)]
    pub(crate) fn set(&self, now: u64) {
        if let Kind::Frozen(at) = &self.0 {
            at.store(now, std::sync::atomic::Ordering::SeqCst);
        }
    }

    /// The current Unix time in whole seconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        match &self.0 {
            Kind::System => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            Kind::External(source) => u64::try_from(source.now().as_second()).unwrap_or(0),
            Kind::StartedAt { start, since } => (*start + since.elapsed()).as_secs(),
            #[cfg(test)]
            Kind::Frozen(at) => at.load(std::sync::atomic::Ordering::SeqCst),
        }
    }

    /// The current time, as exactly as it is known.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        let since_epoch = match &self.0 {
            Kind::System => return Timestamp::now(),
            Kind::External(source) => return source.now(),
            Kind::StartedAt { start, since } => *start + since.elapsed(),
            #[cfg(test)]
            Kind::Frozen(at) => Duration::from_secs(at.load(std::sync::atomic::Ordering::SeqCst)),
        };
        SignedDuration::try_from(since_epoch)
            .ok()
            .and_then(|passed| Timestamp::from_duration(passed).ok())
            .unwrap_or(Timestamp::MAX)
    }

    /// Waits until this duration has passed by this clock.
    pub async fn sleep(&self, duration: Duration) {
        match &self.0 {
            Kind::External(source) => source.sleep(duration).await,
            _ => tokio::time::sleep(duration).await,
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "the system's",
            Self::StartedAt { .. } => "started",
            Self::External(_) => "external",
            #[cfg(test)]
            Self::Frozen(_) => "frozen",
        })
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
    use super::*;

    #[test]
    fn a_started_clock_shows_its_start_and_runs_on() {
        let start: Timestamp = "2030-12-04T23:59:50Z".parse().expect("a timestamp");
        let clock = Clock::starting_at(start);
        let first = clock.now();
        assert!((1_922_659_190..1_922_659_195).contains(&first), "{first}");
        assert!(clock.now() >= first);
    }

    /// A time that passes by waiting alone.
    struct Waited(std::sync::Mutex<Timestamp>);

    impl TimeSource for Waited {
        fn now(&self) -> Timestamp {
            *self.0.lock().expect("no panic")
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            *self.0.lock().expect("no panic") += duration;
            Box::pin(std::future::ready(()))
        }
    }

    fn waited(start: &str) -> Clock {
        Clock::controlled(Waited(std::sync::Mutex::new(start.parse().expect("a timestamp"))))
    }

    #[tokio::test]
    async fn a_controlled_clock_shows_the_time_of_its_source_and_waits_by_it() {
        let clock = waited("2030-12-05T00:00:00.25Z");
        assert_eq!((clock.now(), clock.timestamp().subsec_millisecond()), (1_922_659_200, 250));
        clock.sleep(Duration::from_hours(1)).await;
        assert_eq!(clock.now(), 1_922_662_800);
    }

    #[test]
    fn every_kind_of_clock_agrees_with_itself_to_the_second() {
        let start: Timestamp = "2030-12-04T23:59:50Z".parse().expect("a timestamp");
        for clock in [Clock::system(), Clock::starting_at(start), Clock::frozen(77)] {
            let (before, exact, after) = (clock.now(), clock.timestamp().as_second().unsigned_abs(), clock.now());
            assert!((before..=after).contains(&exact), "{clock:?}: {before}, {exact}, {after}");
        }
    }

    #[test]
    fn dates_are_in_the_format_of_http() {
        assert_eq!(http_date(1_922_659_200), "Thu, 05 Dec 2030 00:00:00 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(u64::MAX), http_date(253_402_207_200), "the last one that can be written");
    }

    #[test]
    fn the_debug_form_names_the_kind_of_clock() {
        assert!(format!("{:?}", Clock::system()).contains("system"));
        assert!(format!("{:?}", waited("2026-01-01T00:00:00Z")).contains("external"));
    }
}
