//! Recovery: how long a key stays limited after a 429, by `Retry-After` and by the window.

use jiff::SignedDuration;

use super::key::{Answer, KeyLimits};
use crate::history::Entry;
use crate::tolerance::Tolerance;

impl KeyLimits<'_> {
    /// How long after a 429 its window is over: at the reset, unless the headers report a day that is not exhausted, in which case it
    /// is the minute that is.
    #[must_use]
    pub fn window_ends_in(&self, limited: &Answer<'_>) -> SignedDuration {
        if self.reports_day(limited.entry, limited.window) && limited.window.remaining > 0 {
            return Tolerance::MINUTE.duration();
        }
        SignedDuration::from_secs(limited.left())
    }

    /// The longest wait that a first refusal may ask for: the longest window there is. Where it is not certain, the server's clock is taken
    /// to be less than a day off.
    #[must_use]
    pub fn longest_first_wait(limited: &Entry<'_>) -> SignedDuration {
        let off = if is_wait_certain(limited) { SignedDuration::ZERO } else { Tolerance::DAY.duration() };
        Tolerance::LONGEST_FIRST_WAIT.duration() + off
    }

    /// The first success that comes in the first half of the wait that a first refusal asks for, although that outlasts any minute: neither
    /// a day that is exhausted nor a ban ends so early.
    #[must_use]
    pub fn served_long_before(&self, at: usize) -> Option<&Answer<'_>> {
        let (limited, later) = self.answers().get(at..)?.split_first()?;
        let is_certain = self.history.is_run() && is_wait_certain(limited.entry);
        let wait = limited.entry.wait_asked_for().filter(|_| is_certain && outlasts_a_minute(limited.entry))?;
        let waited = |next: &Answer<'_>| next.entry.exchange.received_at.duration_since(limited.entry.exchange.sent_at);
        later.iter().find(|next| next.entry.succeeded() && limited.precedes(next) && waited(next) * 2 < wait)
    }

    /// Whether a 429 asks for a wait that outlasts the exhausted window, or ends at midnight: then it may be the day that is exhausted, by
    /// whomever, while the headers report the minute; or a ban for what somebody else has done.
    #[must_use]
    pub fn waits_for_more(&self, limited: &Answer<'_>) -> bool {
        let longest = if self.reports_day(limited.entry, limited.window) && limited.window.remaining > 0 {
            // It is the minute behind the day that is exhausted, or a ban.
            longest_wait_of_a_minute()
        } else {
            SignedDuration::from_secs(limited.left()) + Tolerance::MINUTE.duration()
        };
        limited.entry.wait_asked_for().is_some_and(|wait| wait > longest || ends_at_midnight(limited.entry, wait))
    }
}

/// Whether a refusal asks for a wait that outlasts any minute: then it is for a ban or for the day.
#[must_use]
pub(super) fn outlasts_a_minute(limited: &Entry<'_>) -> bool {
    limited.wait_asked_for().is_some_and(|wait| wait > longest_wait_of_a_minute())
}

/// How long a refusal for an exhausted minute may ask to wait.
fn longest_wait_of_a_minute() -> SignedDuration {
    Tolerance::LONGEST_MINUTE.duration() + Tolerance::LONGER_WAIT.duration()
}

/// Whether it is certain how long a refusal asks to wait: for a number of seconds, or until a date that its own `Date` goes with.
fn is_wait_certain(limited: &Entry<'_>) -> bool {
    limited.asks_in_seconds() || limited.server_time().is_some()
}

/// Whether a wait ends with the day of the server's clock, or not much later. Late in the day that is soon. Without a `Date` that clock
/// may be some seconds off.
fn ends_at_midnight(limited: &Entry<'_>, wait: SignedDuration) -> bool {
    let is_dated = limited.server_time().is_some();
    let slack = if is_dated { Tolerance::CLOCK_SLACK } else { Tolerance::MINUTE }.seconds();
    let end = limited.answered_at().as_second().saturating_add(wait.as_secs()).saturating_add(slack);
    end.rem_euclid(Tolerance::DAY.seconds()) <= Tolerance::LONGER_WAIT.seconds() + 2 * slack
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_window_is_over_at_the_reset_unless_a_day_that_is_not_exhausted_is_reported() {
        let ends_in = |ahead, remaining| {
            let refused = TraceBuilder::new().window(ahead).list(429, remaining, 7);
            refused.main_key(|key| key.window_ends_in(&key.answers()[0]).as_secs())
        };
        assert_eq!(ends_in(30, 0), 30);
        assert_eq!(ends_in(62, 5), 62, "a minute, rounded");
        assert_eq!(ends_in(63, 5), 60, "the minute behind a day");
        assert_eq!(ends_in(3_600, 0), 3_600, "the day is exhausted");
    }

    #[test]
    fn who_is_served_in_the_first_half_of_a_long_wait_is_served_long_before_its_end() {
        let served = |refused: TraceBuilder, after: fn(TraceBuilder) -> TraceBuilder| {
            after(refused).main_key(|key| key.served_long_before(0).is_some())
        };
        let refused = || TraceBuilder::at("2026-06-01T12:00:00Z").window(3_600).list(429, 0, 1_000);
        let waited = |millis| refused().retry_after("200").wait_millis(millis);
        let list: fn(TraceBuilder) -> TraceBuilder = |builder| builder.list(200, 5, 1_000);
        // The two exchanges take 20 ms.
        assert_eq!((served(waited(99_979), list), served(waited(99_980), list)), (true, false), "half of it");
        assert!(!served(waited(1), |builder| builder.list(404, 5, 1_000)), "a failure");
        assert!(!served(waited(1), |builder| builder.list(200, 5, 1_000).together(1..=2)), "their order is unknown");
        let until = || refused().retry_after("Mon, 01 Jun 2026 12:03:20 GMT");
        assert!(served(until(), list));
        assert!(!served(until().dateless(), list), "the server's clock is unknown");
    }

    #[test]
    fn a_wait_that_outlasts_the_window_or_ends_with_the_day_is_for_more() {
        let waits = |builder: TraceBuilder| builder.main_key(|key| key.waits_for_more(&key.answers()[0]));
        let refused = |time: &str, ahead, seconds: i64| {
            TraceBuilder::at(time).window(ahead).list(429, 0, 7).retry_after(&seconds.to_string())
        };
        let noon = |ahead, seconds| waits(refused("2026-06-01T12:00:00Z", ahead, seconds));
        assert_eq!((noon(60, 120), noon(60, 121)), (false, true));
        assert!(!noon(3_600, 90), "before the end of an exhausted day");
        let late = |seconds| waits(refused("2026-06-01T23:59:00Z", 60, seconds));
        assert_eq!([57, 58, 67, 68].map(late), [false, true, true, false], "about midnight");
        let dateless = |seconds| waits(refused("2026-06-01T23:57:00Z", 300, seconds).dateless());
        assert_eq!([119, 120, 245, 246].map(dateless), [false, true, true, false], "of a clock that is unknown");
    }
}
