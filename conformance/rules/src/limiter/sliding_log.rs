//! Sliding windows: a limiter that keeps a log of the last minute, from which each request drops out a minute after it arrived.
//!
//! The specification does not say how windows are cut. With such a log Remaining is what the last minute leaves, and Reset is when its
//! oldest request drops out: correct headers, although one Reset follows another within seconds. Whether a server counts like this can
//! be calculated from the run's own requests, and a window that is merely too short does not match that calculation.

use super::arrival::Arrival;
use super::key::{Answer, KeyLimits};
use super::windows::short_windows;
use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

impl KeyLimits<'_> {
    /// Whether the answers are those of a log of the last minute: as windows, some would be too short, and all are as such a log would
    /// have them.
    #[must_use]
    pub fn is_sliding_log(&self) -> bool {
        *self.sliding_log.get_or_init(|| {
            let Some([short, _]) = short_windows(self.answers_outside_bans()).next() else { return false };
            let of_minutes = |answer: &&Answer<'_>| answer.window.limit == short.window.limit;
            let shared = self.is_shared();
            self.answers_outside_bans().iter().filter(of_minutes).all(|answer| {
                let drops_out = if shared { ends_within_a_minute(answer) } else { self.is_oldest(answer) };
                // Without a Date the server's clock is unknown.
                let may_drop_out = drops_out || answer.entry.server_time().is_none();
                may_drop_out && self.leaves_room_for_the_last_minute(answer)
            })
        })
    }

    /// Whether more was ever used than by the run's own requests, between two answers or in a minute: then the oldest may be
    /// somebody else's, or a refusal.
    fn is_shared(&self) -> bool {
        self.falls_by_more() || self.exceeds_its_own()
    }

    /// Whether Remaining ever fell by more than the run's own requests explain. What had been used at the first of two answers may have
    /// dropped out meanwhile, and a window may have begun anew, which explains nothing.
    pub(super) fn falls_by_more(&self) -> bool {
        self.answers_outside_bans().windows(2).any(|pair| {
            let [before, after] = [pair[0], pair[1]];
            let fell = before.window.remaining.saturating_sub(after.window.remaining);
            before.precedes(&after)
                && before.window.limit == after.window.limit
                && fell > self.history.sent_between(before.entry, after.entry)
        })
    }

    /// Whether more was ever used than the run's own requests of the last minute.
    pub(super) fn exceeds_its_own(&self) -> bool {
        let own = |entry: &Entry<'_>| {
            let is_recent = |other: &&Entry<'_>| {
                // Each key has a log of its own.
                !other.is_limited()
                    && other.key().is_none_or(|key| key == self.index)
                    && other.exchange.sent_at <= entry.exchange.received_at
                    && entry.exchange.sent_at.duration_since(other.exchange.received_at)
                        <= Tolerance::NO_LONGER_KEPT.duration()
            };
            self.history.entries.iter().filter(is_recent).count() as u64
        };
        let used = |Window { limit, remaining, .. }: Window| limit.saturating_sub(remaining);
        self.answers_outside_bans().iter().any(|answer| used(answer.window) > own(answer.entry))
    }

    /// Whether a request of this run, with whatever credential, came a minute before the reset that an answer reports.
    fn is_oldest(&self, answer: &Answer<'_>) -> bool {
        let came = answer.window.reset - Tolerance::MINUTE.seconds();
        let sent_at = answer.entry.exchange.sent_at;
        let earlier = self.history.entries.iter().take_while(|other| other.exchange.sent_at <= sent_at);
        earlier.filter_map(Arrival::of).any(|arrival| arrival.may_be(came))
    }

    /// Whether no more remains than the successes of the last minute leave, and a further one had room among them.
    fn leaves_room_for_the_last_minute(&self, answer: &Answer<'_>) -> bool {
        let (entry, window) = (answer.entry, answer.window);
        let kept = |other: &&Answer<'_>| {
            other.window.limit == window.limit && other.entry.succeeded() && other.is_kept_until(answer)
        };
        let used = self.answers_outside_bans().iter().filter(kept).count();
        let own = if entry.succeeded() { window.remaining.max(1) } else { window.remaining };
        own.saturating_add(used as u64) <= window.limit
    }
}

impl Answer<'_> {
    /// Whether this request, if it was counted, is certainly still in a log of the last minute when the other one comes.
    pub(super) fn is_kept_until(&self, other: &Answer<'_>) -> bool {
        let passed = other.entry.exchange.received_at.duration_since(self.entry.exchange.sent_at);
        self.precedes(other) && passed <= Tolerance::KEPT.duration()
    }
}

/// Whether the reset is a minute after some time in the last minute.
pub(super) fn ends_within_a_minute(answer: &Answer<'_>) -> bool {
    Arrival::of(answer.entry).is_some_and(|Arrival { earliest, latest }| {
        let in_a_minute = latest + Tolerance::MINUTE.seconds();
        Arrival { earliest, latest: in_a_minute }.may_be(answer.window.reset)
    })
}

#[cfg(test)]
mod tests {
    use crate::tolerance::Tolerance;
    use crate::trace_builder::TraceBuilder;

    const CLOCK_SLACK: i64 = Tolerance::CLOCK_SLACK.seconds();

    fn is_sliding_log(builder: TraceBuilder) -> bool {
        builder.main_key(|key| key.is_sliding_log())
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
        assert!(is_sliding_log(four().wait(10).window(5).list(200, 5, 7)), "reported before it is counted itself");
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
    fn the_oldest_may_be_somebody_elses_where_more_is_consumed_than_by_the_run() {
        // Half a minute before each answer somebody else's request came, of which there is no trace but in what remains.
        let reported = |remaining: u64| four().wait(10).window(30).list(200, remaining, 7);
        assert!(!is_sliding_log(reported(4)), "the run has sent three in the last minute");
        assert!(is_sliding_log(reported(3)));
        let ahead = |seconds| is_sliding_log(four().wait(10).window(seconds).list(200, 3, 7));
        assert!(ahead(62) && ahead(-2), "rounded");
        assert!(!ahead(63) && !ahead(-3), "nobody's request drops out then");
        assert!(is_sliding_log(four().wait(12).window(-6).list(200, 3, 7).slow(5)), "counted when it came");
        assert!(
            !is_sliding_log(four().wait(10).window(30).list(200, 4, 7).list(429, 0, 7)),
            "a refusal may say so of itself"
        );
        let refused = four().wait(10).window(30).list(429, 4, 7).list(200, 3, 7);
        assert!(is_sliding_log(refused.list(200, 2, 7)), "a refusal may have been counted, or not");
        let late = |seconds: i64| TraceBuilder::new().list(200, 6, 7).wait(seconds).window(20).list(200, 5, 7);
        assert!(!is_sliding_log(late(61)), "the first may still count");
        assert!(is_sliding_log(late(62)));
        let between = |first| is_sliding_log(four().list(200, first, 7).wait(10).window(30).list(200, 3, 7));
        assert!(!between(4) && !between(3));
        assert!(between(2), "two for one request");
    }

    #[test]
    fn answers_that_report_the_day_say_nothing_of_the_log() {
        assert!(is_sliding_log(four().window(40_000).list(200, 3, 1_000)));
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
        let reported = |ahead: i64| is_sliding_log(four().wait(10).window(5 + ahead).list(200, 4, 7));
        assert!(reported(CLOCK_SLACK) && reported(-CLOCK_SLACK));
        assert!(!reported(CLOCK_SLACK + 1) && !reported(-CLOCK_SLACK - 1));
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
