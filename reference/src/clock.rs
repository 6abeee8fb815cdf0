//! The server's clock: everything that depends on the time of day asks here, and nowhere else.
//!
//! A clock can be started at any time, so that a client author can watch the removal of
//! `GET /pets/{petId}` before it happens. From there it runs on like any other clock. Timeouts do not
//! use it: those are about elapsed time, not about the date.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use jiff::Timestamp;

/// A source of the current time, in whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    System,
    StartedAt {
        /// What the clock showed at `since`, counted from the Unix epoch.
        start: Duration,
        since: Instant,
    },
    External(Arc<dyn Fn() -> u64 + Send + Sync>),
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

    /// A clock that another program controls: `now` returns the Unix time in whole seconds. So a program that embeds a
    /// server can let the server's time pass faster than its own.
    #[must_use]
    pub fn told_by(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Kind::External(Arc::new(now)))
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
            Kind::External(now) => now(),
            Kind::StartedAt { start, since } => (*start + since.elapsed()).as_secs(),
            #[cfg(test)]
            Kind::Frozen(at) => at.load(std::sync::atomic::Ordering::SeqCst),
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
///
/// Formatting costs more than everything else a cached read does, and the text changes once a second:
/// each thread keeps the last one.
#[must_use]
pub fn http_date(unix_seconds: u64) -> HeaderValue {
    thread_local! {
        static LAST: RefCell<(u64, HeaderValue)> = RefCell::new((0, format_date(0)));
    }
    LAST.with_borrow_mut(|last| {
        if last.0 != unix_seconds {
            *last = (unix_seconds, format_date(unix_seconds));
        }
        last.1.clone()
    })
}

/// 9999-12-31T23:59:59Z.
const LAST_DATE: u64 = 253_402_300_799;

fn format_date(unix_seconds: u64) -> HeaderValue {
    // HTTP dates have four digits for the year, and the formatter panics beyond them.
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST_DATE)));
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"))
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

    #[test]
    fn an_external_clock_shows_what_its_function_returns() {
        let clock = Clock::told_by(|| 1_922_659_200);
        assert_eq!(clock.now(), 1_922_659_200);
    }

    #[test]
    fn dates_are_in_the_format_of_http() {
        assert_eq!(http_date(1_922_659_200), "Thu, 05 Dec 2030 00:00:00 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn the_debug_form_names_the_kind_of_clock() {
        assert!(format!("{:?}", Clock::system()).contains("system"));
        assert!(format!("{:?}", Clock::told_by(|| 0)).contains("external"));
    }
}
