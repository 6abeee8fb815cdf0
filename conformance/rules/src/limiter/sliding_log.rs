//! Sliding windows: a limiter that keeps a log of the last minute, of which a request drops out a minute after it came.
//!
//! How windows are cut is not stated. Of such a log Remaining is what the last minute leaves, and Reset is when its oldest request
//! drops out: honest headers, though one Reset follows another within seconds. Whether that is so can be reckoned from the run's
//! own requests, which a window that is only too short does not stand up to.

use jiff::SignedDuration;

use crate::history::{Entry, History};
use crate::limiter::bans::possible_bans;
use crate::rules::server::exceeding::sent_between;
use crate::rules::server::headers::short_windows;
use crate::trace::rate_limit::Window;

const MINUTE: i64 = 60;

/// Clocks are told to the second.
const CLOCK_SLACK: i64 = 2;

/// How long a request is certain to stay in the log.
const KEPT: SignedDuration = SignedDuration::from_secs(MINUTE - CLOCK_SLACK);

/// After this long it is certain to have dropped out, where the log has whole seconds.
const NO_LONGER_KEPT: SignedDuration = SignedDuration::from_secs(MINUTE + 1);

impl History<'_> {
    /// Whether the answers to a key tell of a log of the last minute: as windows, some would be too short, and all are as such a log
    /// would have them.
    pub(crate) fn is_sliding_log(&self, key: usize) -> bool {
        let of_bans = possible_bans(self);
        let mut with_rate_limit = self.with_rate_limit(key);
        with_rate_limit.retain(|(entry, _)| !of_bans.contains(&entry.exchange.number));
        let shared = self.is_shared(&with_rate_limit);
        let is_honest = |(entry, window): &(&Entry<'_>, Window)| {
            let drops_out = if shared { ends_within_a_minute(entry, *window) } else { self.is_oldest(entry, *window) };
            // Without a Date the server's clock is unknown.
            let may_drop_out = drops_out || entry.server_time().is_none();
            may_drop_out && leaves_room_for_the_last_minute(&with_rate_limit, entry, *window)
        };
        short_windows(&with_rate_limit).next().is_some() && with_rate_limit.iter().all(is_honest)
    }

    /// Whether more was ever used up than by the run's own requests, between two answers or in a minute: then the oldest may be
    /// somebody else's.
    fn is_shared(&self, with_rate_limit: &[(&Entry<'_>, Window)]) -> bool {
        let own = |entry: &Entry<'_>| {
            let is_recent = |other: &&Entry<'_>| {
                other.exchange.sent_at <= entry.exchange.received_at
                    && entry.exchange.sent_at.duration_since(other.exchange.received_at) <= NO_LONGER_KEPT
            };
            self.entries.iter().filter(is_recent).count() as u64
        };
        let between = with_rate_limit.windows(2).any(|pair| {
            let [(before, earlier), (after, later)] = [pair[0], pair[1]];
            let fell = earlier.remaining.saturating_sub(later.remaining);
            before.precedes(after) && earlier.is_same(later) && fell > sent_between(self, before, after)
        });
        between
            || with_rate_limit.iter().any(|(entry, window)| window.limit.saturating_sub(window.remaining) > own(entry))
    }

    /// Whether a request of this run, with whatever credential, came a minute before the reset that an answer tells.
    fn is_oldest(&self, entry: &Entry<'_>, window: Window) -> bool {
        let came = window.reset - MINUTE;
        let earlier = self.entries.iter().take_while(|other| other.exchange.sent_at <= entry.exchange.sent_at);
        earlier
            .filter_map(|other| {
                Some(other.earliest_arrival()? - CLOCK_SLACK..=other.server_time()?.as_second() + CLOCK_SLACK)
            })
            .any(|times| times.contains(&came))
    }
}

/// Whether the reset is a minute after some time in the last minute.
fn ends_within_a_minute(entry: &Entry<'_>, window: Window) -> bool {
    let (Some(came), Some(answered)) = (entry.earliest_arrival(), entry.server_time()) else { return false };
    (came - CLOCK_SLACK..=answered.as_second() + MINUTE + CLOCK_SLACK).contains(&window.reset)
}

/// Whether no more remains than the successes of the last minute leave, and a further one had room among them.
fn leaves_room_for_the_last_minute(
    with_rate_limit: &[(&Entry<'_>, Window)],
    entry: &Entry<'_>,
    window: Window,
) -> bool {
    let kept = |other: &Entry<'_>| {
        other.succeeded()
            && other.precedes(entry)
            && entry.exchange.received_at.duration_since(other.exchange.sent_at) <= KEPT
    };
    let used = with_rate_limit.iter().filter(|(other, told)| told.limit == window.limit && kept(other)).count();
    let own = if entry.succeeded() { window.remaining.max(1) } else { window.remaining };
    own.saturating_add(used as u64) <= window.limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    fn is_sliding_log(builder: TraceBuilder) -> bool {
        let trace = builder.trace();
        let history = History::new(&trace);
        history.is_sliding_log(0)
    }

    /// Three requests ten seconds apart, of a limit of seven. 25 seconds after the last, the first has dropped out.
    fn four() -> TraceBuilder {
        let first = TraceBuilder::new().window(60).list(200, 6, 7);
        first.wait(10).list(200, 5, 7).wait(10).list(200, 4, 7).wait(45).window(5).list(200, 4, 7)
    }

    #[test]
    fn each_request_drops_out_of_the_log_after_a_minute() {
        assert!(is_sliding_log(four()));
        assert!(is_sliding_log(four().wait(10).window(5).list(200, 4, 7)), "the second has, too");
        assert!(is_sliding_log(four().wait(10).window(5).list(200, 5, 7)), "told before it is counted itself");
        assert!(!is_sliding_log(four().wait(10).window(5).list(200, 6, 7)), "one too many");
        assert!(is_sliding_log(four().wait(10).window(5).list(200, 2, 7)), "somebody else's counts too");
        assert!(is_sliding_log(four().wait(70).window(60).list(200, 6, 7)), "all have");
    }

    #[test]
    fn windows_that_follow_each_other_after_a_minute_are_no_log() {
        let fixed = |apart: i64| TraceBuilder::new().window(10).list(200, 6, 7).wait(apart).window(60).list(200, 6, 7);
        assert!(!is_sliding_log(fixed(10)), "a minute of the clock");
        let first = TraceBuilder::new().window(60).list(200, 6, 7).wait(57).list(200, 5, 7);
        assert!(!is_sliding_log(first.wait(5).window(60).list(200, 6, 7)), "a minute from the first request");
        let next = |apart: i64| TraceBuilder::new().window(60).list(200, 6, 7).wait(apart).window(60).list(200, 6, 7);
        assert!(!is_sliding_log(next(60)) && !is_sliding_log(next(58)) && is_sliding_log(next(57)));
        assert!(is_sliding_log(next(58).wait(40).window(60).list(200, 5, 7)), "but the next is one");
    }

    #[test]
    fn an_end_that_moves_by_the_slack_of_a_clock_is_that_of_one_window() {
        let moved = |seconds: i64| {
            is_sliding_log(TraceBuilder::new().window(60).list(200, 6, 7).wait(seconds).window(60).list(200, 5, 7))
        };
        assert!(!moved(1) && !moved(CLOCK_SLACK));
        assert!(moved(CLOCK_SLACK + 1));
    }

    #[test]
    fn an_end_may_move_second_by_second() {
        let moved = |times: i64| {
            (0..times).fold(TraceBuilder::new().window(60).list(200, 30, 40), |builder, _| {
                builder.wait(1).window(60).list(200, 20, 40)
            })
        };
        assert!(!is_sliding_log(moved(CLOCK_SLACK)));
        assert!(is_sliding_log(moved(CLOCK_SLACK + 1)));
        let other = TraceBuilder::new().window(60).list(200, 30, 40).wait(30).window(30).list(200, 900, 1_000);
        assert!(!is_sliding_log(other), "another limit has another window");
    }

    #[test]
    fn the_oldest_may_be_somebody_elses_where_more_is_used_up_than_by_the_run() {
        // Half a minute before each answer somebody else's request came, of which there is no trace but in what remains.
        let told = |remaining: u64| four().wait(10).window(30).list(200, remaining, 7);
        assert!(!is_sliding_log(told(4)), "the run has sent three in the last minute");
        assert!(is_sliding_log(told(3)));
        let ahead = |seconds| is_sliding_log(four().wait(10).window(seconds).list(200, 3, 7));
        assert!(ahead(62) && ahead(-2), "rounded");
        assert!(!ahead(63) && !ahead(-3), "nobody's request drops out then");
        assert!(is_sliding_log(four().wait(12).window(-6).list(200, 3, 7).slow(5)), "counted when it came");
        assert!(
            !is_sliding_log(four().wait(10).window(30).list(200, 4, 7).list(429, 0, 7)),
            "a refusal may say so of itself"
        );
        let late = |seconds: i64| TraceBuilder::new().list(200, 6, 7).wait(seconds).window(20).list(200, 5, 7);
        assert!(!is_sliding_log(late(61)), "the first may still count");
        assert!(is_sliding_log(late(62)));
        let between = |first| is_sliding_log(four().list(200, first, 7).wait(10).window(30).list(200, 3, 7));
        assert!(!between(4) && !between(3));
        assert!(between(2), "two for one request");
    }

    #[test]
    fn what_is_about_to_drop_out_may_have() {
        assert!(
            !is_sliding_log(four().wait(2).window(3).list(200, 5, 7)),
            "the second has not, nor the third and fourth"
        );
        assert!(is_sliding_log(four().wait(4).window(11).list(200, 5, 7)));
    }

    #[test]
    fn the_reset_is_a_minute_after_a_request_came() {
        let told = |ahead: i64| is_sliding_log(four().wait(10).window(5 + ahead).list(200, 4, 7));
        assert!(told(CLOCK_SLACK) && told(-CLOCK_SLACK));
        assert!(!told(CLOCK_SLACK + 1) && !told(-CLOCK_SLACK - 1));
        assert!(!is_sliding_log(four().wait(10).window(30).list(200, 4, 7)), "nothing came half a minute ago");
        assert!(is_sliding_log(four().wait(10).window(30).list(200, 4, 7).dateless()), "the server's clock is unknown");
        assert!(is_sliding_log(four().list(200, 0, 7).list(429, 0, 7).window(90).list(429, 0, 7)), "a ban's end");
    }

    #[test]
    fn a_slow_answer_may_have_been_counted_when_its_request_came() {
        let slow = |ahead| is_sliding_log(four().wait(100).window(ahead).list(200, 6, 7).slow(5));
        assert!(slow(60 - 5));
        assert!(slow(60));
        assert!(!slow(60 - 5 - CLOCK_SLACK - 1));
    }

    #[test]
    fn only_successes_of_the_same_limit_are_sure_to_be_in_the_log() {
        assert!(is_sliding_log(four().list(404, 3, 7).list(200, 3, 7)));
        assert!(!is_sliding_log(four().list(200, 4, 7).list(200, 4, 7)));
        assert!(is_sliding_log(four().wait(30).window(60).list(200, 9, 9)));
    }

    #[test]
    fn a_success_beyond_the_limit_is_in_no_log() {
        let full = || four().list(200, 3, 7).list(200, 2, 7).list(200, 1, 7);
        assert!(is_sliding_log(full().list(200, 0, 7).list(429, 0, 7)));
        assert!(!is_sliding_log(full().list(200, 0, 7).list(200, 0, 7)));
    }
}
