//! Sliding windows: a limiter that keeps a log of the last minute, of which a request drops out a minute after it came.
//!
//! How windows are cut is not stated. Of such a log Remaining is what the last minute leaves, and Reset is when its oldest request
//! drops out: honest headers, though one Reset follows another within seconds. Whether that is so can be reckoned from the run's
//! own requests, which a window that is only too short does not stand up to.

use jiff::SignedDuration;

use crate::history::{Case, Docket};
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

impl Docket<'_> {
    /// Whether the answers to a key tell of a log of the last minute: as windows, some would be too short, and all are as such a log
    /// would have them.
    pub(crate) fn slides(&self, key: usize) -> bool {
        let of_bans = possible_bans(self);
        let mut metered = self.metered(key);
        metered.retain(|(case, _)| !of_bans.contains(&case.exchange.number));
        let shared = self.is_shared(&metered);
        let is_honest = |(case, window): &(&Case<'_>, Window)| {
            let drops_out = if shared { ends_within_a_minute(case, *window) } else { self.is_oldest(case, *window) };
            // Without a Date the server's clock is unknown.
            let may_drop_out = drops_out || case.server_time().is_none();
            may_drop_out && leaves_room_for_the_last_minute(&metered, case, *window)
        };
        short_windows(&metered).next().is_some() && metered.iter().all(is_honest)
    }

    /// Whether more was ever used up than by the run's own requests, between two answers or in a minute: then the oldest may be
    /// somebody else's.
    fn is_shared(&self, metered: &[(&Case<'_>, Window)]) -> bool {
        let own = |case: &Case<'_>| {
            let is_recent = |other: &&Case<'_>| {
                other.exchange.sent_at <= case.exchange.received_at
                    && case.exchange.sent_at.duration_since(other.exchange.received_at) <= NO_LONGER_KEPT
            };
            self.cases.iter().filter(is_recent).count() as u64
        };
        let between = metered.windows(2).any(|pair| {
            let [(before, earlier), (after, later)] = [pair[0], pair[1]];
            let fell = earlier.remaining.saturating_sub(later.remaining);
            before.precedes(after) && earlier.is_same(later) && fell > sent_between(self, before, after)
        });
        between || metered.iter().any(|(case, window)| window.limit.saturating_sub(window.remaining) > own(case))
    }

    /// Whether a request of this run, with whatever credential, came a minute before the reset that an answer tells.
    fn is_oldest(&self, case: &Case<'_>, window: Window) -> bool {
        let came = window.reset - MINUTE;
        let earlier = self.cases.iter().take_while(|other| other.exchange.sent_at <= case.exchange.sent_at);
        earlier
            .filter_map(|other| Some(other.came()? - CLOCK_SLACK..=other.server_time()?.as_second() + CLOCK_SLACK))
            .any(|times| times.contains(&came))
    }
}

/// Whether the reset is a minute after some time in the last minute.
fn ends_within_a_minute(case: &Case<'_>, window: Window) -> bool {
    let (Some(came), Some(answered)) = (case.came(), case.server_time()) else { return false };
    (came - CLOCK_SLACK..=answered.as_second() + MINUTE + CLOCK_SLACK).contains(&window.reset)
}

/// Whether no more remains than the successes of the last minute leave, and a further one had room among them.
fn leaves_room_for_the_last_minute(metered: &[(&Case<'_>, Window)], case: &Case<'_>, window: Window) -> bool {
    let kept = |other: &Case<'_>| {
        other.succeeded()
            && other.precedes(case)
            && case.exchange.received_at.duration_since(other.exchange.sent_at) <= KEPT
    };
    let used = metered.iter().filter(|(other, told)| told.limit == window.limit && kept(other)).count();
    let own = if case.succeeded() { window.remaining.max(1) } else { window.remaining };
    own.saturating_add(used as u64) <= window.limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::Sample;

    fn slides(sample: Sample) -> bool {
        let trace = sample.trace();
        let docket = Docket::new(&trace);
        docket.slides(0)
    }

    /// Three requests ten seconds apart, of a limit of seven. 25 seconds after the last, the first has dropped out.
    fn four() -> Sample {
        let first = Sample::new().window(60).list(200, 6, 7);
        first.wait(10).list(200, 5, 7).wait(10).list(200, 4, 7).wait(45).window(5).list(200, 4, 7)
    }

    #[test]
    fn each_request_drops_out_of_the_log_after_a_minute() {
        assert!(slides(four()));
        assert!(slides(four().wait(10).window(5).list(200, 4, 7)), "the second has, too");
        assert!(slides(four().wait(10).window(5).list(200, 5, 7)), "told before it is counted itself");
        assert!(!slides(four().wait(10).window(5).list(200, 6, 7)), "one too many");
        assert!(slides(four().wait(10).window(5).list(200, 2, 7)), "somebody else's counts too");
        assert!(slides(four().wait(70).window(60).list(200, 6, 7)), "all have");
    }

    #[test]
    fn windows_that_follow_each_other_after_a_minute_are_no_log() {
        let fixed = |apart: i64| Sample::new().window(10).list(200, 6, 7).wait(apart).window(60).list(200, 6, 7);
        assert!(!slides(fixed(10)), "a minute of the clock");
        let first = Sample::new().window(60).list(200, 6, 7).wait(57).list(200, 5, 7);
        assert!(!slides(first.wait(5).window(60).list(200, 6, 7)), "a minute from the first request");
        let next = |apart: i64| Sample::new().window(60).list(200, 6, 7).wait(apart).window(60).list(200, 6, 7);
        assert!(!slides(next(60)) && !slides(next(58)) && slides(next(57)));
        assert!(slides(next(58).wait(40).window(60).list(200, 5, 7)), "but the next is one");
    }

    #[test]
    fn an_end_that_moves_by_the_slack_of_a_clock_is_that_of_one_window() {
        let moved =
            |seconds: i64| slides(Sample::new().window(60).list(200, 6, 7).wait(seconds).window(60).list(200, 5, 7));
        assert!(!moved(1) && !moved(CLOCK_SLACK));
        assert!(moved(CLOCK_SLACK + 1));
    }

    #[test]
    fn an_end_may_move_second_by_second() {
        let moved = |times: i64| {
            (0..times).fold(Sample::new().window(60).list(200, 30, 40), |sample, _| {
                sample.wait(1).window(60).list(200, 20, 40)
            })
        };
        assert!(!slides(moved(CLOCK_SLACK)));
        assert!(slides(moved(CLOCK_SLACK + 1)));
        let other = Sample::new().window(60).list(200, 30, 40).wait(30).window(30).list(200, 900, 1_000);
        assert!(!slides(other), "another limit has another window");
    }

    #[test]
    fn the_oldest_may_be_somebody_elses_where_more_is_used_up_than_by_the_run() {
        // Half a minute before each answer somebody else's request came, of which there is no trace but in what remains.
        let told = |remaining: u64| four().wait(10).window(30).list(200, remaining, 7);
        assert!(!slides(told(4)), "the run has sent three in the last minute");
        assert!(slides(told(3)));
        let ahead = |seconds| slides(four().wait(10).window(seconds).list(200, 3, 7));
        assert!(ahead(62) && ahead(-2), "rounded");
        assert!(!ahead(63) && !ahead(-3), "nobody's request drops out then");
        assert!(slides(four().wait(12).window(-6).list(200, 3, 7).slow(5)), "counted when it came");
        assert!(!slides(four().wait(10).window(30).list(200, 4, 7).list(429, 0, 7)), "a refusal may say so of itself");
        let late = |seconds: i64| Sample::new().list(200, 6, 7).wait(seconds).window(20).list(200, 5, 7);
        assert!(!slides(late(61)), "the first may still count");
        assert!(slides(late(62)));
        let between = |first| slides(four().list(200, first, 7).wait(10).window(30).list(200, 3, 7));
        assert!(!between(4) && !between(3));
        assert!(between(2), "two for one request");
    }

    #[test]
    fn what_is_about_to_drop_out_may_have() {
        assert!(!slides(four().wait(2).window(3).list(200, 5, 7)), "the second has not, nor the third and fourth");
        assert!(slides(four().wait(4).window(11).list(200, 5, 7)));
    }

    #[test]
    fn the_reset_is_a_minute_after_a_request_came() {
        let told = |ahead: i64| slides(four().wait(10).window(5 + ahead).list(200, 4, 7));
        assert!(told(CLOCK_SLACK) && told(-CLOCK_SLACK));
        assert!(!told(CLOCK_SLACK + 1) && !told(-CLOCK_SLACK - 1));
        assert!(!slides(four().wait(10).window(30).list(200, 4, 7)), "nothing came half a minute ago");
        assert!(slides(four().wait(10).window(30).list(200, 4, 7).dateless()), "the server's clock is unknown");
        assert!(slides(four().list(200, 0, 7).list(429, 0, 7).window(90).list(429, 0, 7)), "a ban's end");
    }

    #[test]
    fn a_slow_answer_may_have_been_counted_when_its_request_came() {
        let slow = |ahead| slides(four().wait(100).window(ahead).list(200, 6, 7).slow(5));
        assert!(slow(60 - 5));
        assert!(slow(60));
        assert!(!slow(60 - 5 - CLOCK_SLACK - 1));
    }

    #[test]
    fn only_successes_of_the_same_limit_are_sure_to_be_in_the_log() {
        assert!(slides(four().list(404, 3, 7).list(200, 3, 7)));
        assert!(!slides(four().list(200, 4, 7).list(200, 4, 7)));
        assert!(slides(four().wait(30).window(60).list(200, 9, 9)));
    }

    #[test]
    fn a_success_beyond_the_limit_is_in_no_log() {
        let full = || four().list(200, 3, 7).list(200, 2, 7).list(200, 1, 7);
        assert!(slides(full().list(200, 0, 7).list(429, 0, 7)));
        assert!(!slides(full().list(200, 0, 7).list(200, 0, 7)));
    }
}
