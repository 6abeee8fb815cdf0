//! Interruptions: refusals between two answers of one running window that shows, before and after, that requests remained.

use jiff::SignedDuration;

use super::key::{Answer, KeyLimits};
use super::recovery::outlasts_a_minute;
use crate::history::Entry;
use crate::tolerance::Tolerance;

/// A refusal in the middle of a window that was not exhausted.
#[derive(Clone, Copy, Debug)]
pub struct Interruption<'h> {
    /// The refusal, whatever its own headers say.
    pub limited: &'h Entry<'h>,
    /// The last answer that was complete before it was sent.
    pub before: Answer<'h>,
    /// The first admitted request that was sent after it.
    pub after: Answer<'h>,
}

impl<'h> KeyLimits<'h> {
    /// The first refusal of each series that neither this key's minute nor its day explains.
    ///
    /// The responses before and after the refusal, which report the same window, bound how many requests anybody can have used in
    /// between: if some were left nevertheless, the window was not exhausted. A ban does not end before an exhausted window does.
    pub fn interruptions(&self) -> impl Iterator<Item = Interruption<'h>> {
        let admitted: Vec<Answer<'h>> = self.answers().iter().copied().filter(|at| !at.entry.is_limited()).collect();
        let limited = self.history.entries.iter().filter(|entry| entry.key() == Some(self.index) && entry.is_limited());
        let mut latest = None;
        limited.filter_map(move |limited| {
            let before = *admitted.iter().rev().find(|answer| answer.entry.precedes(limited))?;
            let after = *admitted.iter().find(|after| limited.precedes(after.entry) && after.entry.succeeded())?;
            let number = before.entry.exchange.number;
            let interruption = Interruption { limited, before, after };
            let is_first = latest.replace(number) != Some(number);
            (is_first && self.is_unexplained(&interruption)).then_some(interruption)
        })
    }

    fn is_unexplained(&self, interruption: &Interruption<'h>) -> bool {
        let Interruption { limited, before, after } = interruption;
        let window = before.window;
        let (Some(first), Some(last)) = (before.entry.server_time(), after.entry.server_time()) else { return false };
        // After its end, and where a log has dropped its oldest, there may be room again.
        let is_running = last.as_second() < window.reset - Tolerance::CLOCK_SLACK.seconds();
        // With the day of the server's clock, a limit may have ended that no header shows.
        let day = |second: i64| second.div_euclid(Tolerance::DAY.seconds());
        let is_one_day = day(first.as_second()) == day(last.as_second());
        if !window.is_same(after.window) || !is_running || !is_one_day || !self.shows_minute(limited, before) {
            return false;
        }
        // The refused request itself is among those sent, and used nothing.
        let sent = self.history.sent_between(before.entry, limited).saturating_sub(1);
        // Reported before counting, a request is not in the figure of its own answer.
        let uncounted = u64::from(!self.counts_first());
        let by_anybody = (window.remaining + uncounted).saturating_sub(after.window.remaining);
        let decayed = if self.begins_anew() { 0 } else { may_have_decayed(interruption) };
        window.remaining > uncounted + sent + by_anybody + decayed
    }

    /// Whether the minute is what the answer before reports; or else nothing but this run's requests counts against it, too few to
    /// exhaust it. A ban of more than a minute, for what others did with the key, need not show in a day.
    fn shows_minute(&self, limited: &Entry<'_>, before: &Answer<'_>) -> bool {
        if self.reports_day(before.entry, before.window) {
            let since = |first: &Answer<'_>| limited.exchange.sent_at.duration_since(first.entry.exchange.received_at);
            let is_all_seen =
                self.answers().first().is_some_and(|first| since(first) > Tolerance::LONGEST_MINUTE.duration());
            let is_exhausted = self.minute_may_be_exhausted(limited, before.window);
            let is_excused = is_exhausted || self.has_other_traffic() || outlasts_a_minute(limited);
            return self.plan_limits().is_some() && is_all_seen && !is_excused;
        }
        // Where the plan is unknown, the last minute of a day looks like a minute.
        self.plan_limits().is_some() || !before.window.ends_at_midnight()
    }

    /// Whether a window was seen to begin with nothing but the run's own requests, although so much had been used of the one before that
    /// a part of it would have weighed, had the counter been one that slides. What a ban reports need not have been used, and what was
    /// used two windows before weighs nothing.
    fn begins_anew(&self) -> bool {
        const MUCH: u64 = 20;
        const EARLY: i64 = Tolerance::MINUTE.seconds() / 2;
        const NEXT: i64 = 2 * Tolerance::MINUTE.seconds() - Tolerance::CLOCK_SLACK.seconds();
        self.answers_outside_bans().windows(2).any(|pair| {
            let [before, after] = [pair[0], pair[1]];
            let used = |answer: &Answer<'_>| answer.window.limit.saturating_sub(answer.window.remaining);
            let is_next = (1..NEXT).contains(&(after.window.reset - before.window.reset));
            let ends_next = before.window.limit == after.window.limit && is_next;
            let is_early =
                after.ahead().is_some_and(|ahead| (EARLY..=Tolerance::LONGEST_MINUTE.seconds()).contains(&ahead));
            let sent = self.history.sent_between(before.entry, after.entry);
            ends_next && is_early && used(&before) >= MUCH && used(&after) <= sent.min(MUCH / 4)
        })
    }
}

/// How much of what was used before may have decayed between the two answers, where a counter slides between two windows: then as
/// much may have been used by others without a trace.
fn may_have_decayed(Interruption { before, after, .. }: &Interruption<'_>) -> u64 {
    let used = before.window.limit.saturating_sub(before.window.remaining);
    let elapsed = after.entry.exchange.received_at.duration_since(before.entry.exchange.sent_at);
    let left = SignedDuration::from_secs(before.left() - Tolerance::CLOCK_SLACK.seconds());
    if left <= elapsed {
        return used;
    }
    // Neither is negative here, and both are less than a day.
    let [elapsed, left] = [elapsed, left].map(|time| time.as_millis().unsigned_abs() as u64);
    1 + (used * elapsed).div_ceil(left.max(1))
}

#[cfg(test)]
mod tests {
    use crate::trace::exchange::Request;
    use crate::trace_builder::TraceBuilder;

    fn interrupted(builder: TraceBuilder) -> usize {
        builder.main_key(|key| key.interruptions().count())
    }

    fn first(remaining: u64) -> TraceBuilder {
        TraceBuilder::new().list(200, remaining, 60)
    }

    /// A refusal without any rate-limit header.
    fn refused(builder: TraceBuilder) -> TraceBuilder {
        builder.ask(Request::new("GET", "/pets"), 429, String::new())
    }

    #[test]
    fn a_refusal_between_two_answers_that_promise_more_is_an_interruption() {
        assert_eq!(interrupted(first(54).list(429, 0, 60).list(200, 53, 60)), 1);
        assert_eq!(interrupted(refused(first(54)).list(200, 53, 60)), 1, "whatever its headers");
        assert_eq!(interrupted(refused(refused(first(54))).list(200, 53, 60)), 1, "once for a series");
        assert_eq!(interrupted(refused(refused(first(54)).list(200, 53, 60)).list(200, 52, 60)), 2);
        assert_eq!(interrupted(refused(first(54))), 0, "nothing came after it");
        assert_eq!(interrupted(refused(first(54)).list(404, 53, 60)), 0, "what failed shows no room");
        assert_eq!(interrupted(refused(first(54)).list(404, 53, 60).list(200, 52, 60)), 1);
    }

    #[test]
    fn what_may_have_been_used_in_between_excuses_a_refusal() {
        assert_eq!(interrupted(refused(first(5)).list(200, 4, 60)), 0, "few are left");
        assert_eq!(interrupted(refused(first(54)).list(200, 3, 60)), 0, "others have used most of them");
        assert_eq!(interrupted(refused(first(30)).list(200, 26, 60)), 1, "others have used some");
        let together = refused(first(7)).list(200, 6, 60);
        assert_eq!(interrupted(together.together(1..=2)), 0, "their order is unknown");
        let decaying = |seconds| refused(first(10).wait(seconds)).list(200, 9, 60);
        assert_eq!(interrupted(decaying(1)), 1);
        assert_eq!(interrupted(decaying(20)), 0, "the weight of a last window may have decayed");
        let few = |left: u64, millis| interrupted(refused(first(left).wait_millis(millis)).list(200, left - 1, 60));
        assert_eq!((few(7, 2_000), few(6, 2_000)), (1, 0), "two used in between, one uncounted, and three decayed");
        assert_eq!(few(7, 2_180), 0, "a fourth, in no more than the time that is certainly left");
        let failed = |builder: TraceBuilder| refused(builder.list(500, 50, 60).without_rate_limit());
        assert_eq!(interrupted(failed(first(5)).list(200, 5, 60)), 0, "a request without headers, of this run");
        assert_eq!(interrupted(failed(first(6)).list(200, 6, 60)), 1);
    }

    #[test]
    fn nothing_decays_where_a_window_was_seen_to_begin_anew() {
        let much = || TraceBuilder::new().window(10).lists(60, &[(200, 31), (200, 30)]);
        let interrupted_later = |next: TraceBuilder| {
            let next = next.list(200, 59, 60).list(200, 10, 60).wait(20);
            interrupted(refused(next).list(200, 9, 60))
        };
        assert_eq!(interrupted_later(much().wait(12).window(58)), 1);
        assert_eq!(interrupted_later(much().wait(72).window(58)), 0, "another window lies in between");
        assert_eq!(interrupted_later(much().wait(40).window(30)), 1, "half of it weighs");
        assert_eq!(interrupted_later(much().wait(41).window(29)), 0, "too late to weigh");
        assert_eq!(interrupted_later(much().wait(12).window(58).list(200, 40, 60)), 0, "the last one weighs");
        let silent = |next: TraceBuilder| (0..9).fold(next, |next, _| next.list(200, 59, 60).without_rate_limit());
        let several = silent(much().wait(12).window(58)).list(200, 50, 60);
        assert_eq!(interrupted_later(several), 0, "ten used of the next may weigh of the last");
        let little = || TraceBuilder::new().window(10).lists(60, &[(200, 42), (200, 41)]);
        assert_eq!(interrupted_later(little().wait(12).window(58)), 0, "too little to weigh");
        let banned = || TraceBuilder::new().window(10).list(429, 0, 60);
        assert_eq!(interrupted_later(banned().wait(12).window(58)), 0, "a ban reports what nobody used");
    }

    #[test]
    fn a_window_that_is_over_says_nothing() {
        assert_eq!(interrupted(refused(first(54)).wait(57).list(200, 53, 60)), 1);
        assert_eq!(interrupted(refused(first(54)).wait(58).list(200, 53, 60)), 0);
        assert_eq!(interrupted(refused(first(54)).window(70).list(200, 53, 60)), 0, "another window");
        let midnight = TraceBuilder::at("2026-06-01T23:59:50Z").list(200, 54, 60);
        assert_eq!(interrupted(refused(midnight).wait(20).list(200, 53, 60)), 0, "a day may have ended");
        let end_of_day = TraceBuilder::at("2026-06-01T23:59:00Z").list(200, 54, 77);
        assert_eq!(interrupted(refused(end_of_day).list(200, 53, 77)), 0, "it may be the day's");
        let ending = |seconds, limit| {
            let first = TraceBuilder::at("2026-06-01T23:59:10Z").window(seconds).list(200, 54, limit);
            interrupted(refused(first).list(200, 53, limit))
        };
        assert_eq!([47, 48, 52, 53].map(|seconds| ending(seconds, 77)), [1, 0, 0, 1], "rounded");
        assert_eq!(ending(50, 60), 1, "the limit of a minute");
        assert_eq!(interrupted(refused(first(54)).list(200, 53, 60).dateless()), 0, "the clock is unknown");
    }

    #[test]
    fn the_minute_behind_a_day_has_to_be_known() {
        let day = |first: TraceBuilder| refused(first.list(200, 900, 1_000)).list(200, 899, 1_000);
        assert_eq!(interrupted(day(TraceBuilder::new().window(3_600))), 0, "somebody may have used the minute");
        let begun = TraceBuilder::new().window(3_600).list(200, 901, 1_000).wait(123);
        assert_eq!(interrupted(day(begun)), 1);
        let since = |millis| {
            let begun = TraceBuilder::new().window(3_600).list(200, 999, 1_000).wait_millis(millis);
            interrupted(refused(begun.list(200, 998, 1_000)).list(200, 997, 1_000))
        };
        assert_eq!((since(61_990), since(61_991)), (0, 1), "what was used of the day before may be of this minute");
        let shared = TraceBuilder::new().window(3_600).lists(1_000, &[(200, 950), (200, 901)]).wait(123);
        assert_eq!(interrupted(day(shared)), 0, "somebody else uses the key");
    }

    #[test]
    fn a_ban_of_more_than_a_minute_need_not_show_in_a_day_but_has_to_in_a_minute() {
        let asking = |ahead, seconds: &str| {
            let begun = TraceBuilder::new().window(ahead).list(200, 901, 1_000).wait(123).list(200, 900, 1_000);
            interrupted(refused(begun).retry_after(seconds).list(200, 899, 1_000))
        };
        assert_eq!(asking(3_600, "90"), 0, "for what somebody else has done");
        assert_eq!(asking(3_600, "67"), 1, "no longer than for a minute");
        assert_eq!(interrupted(refused(first(54)).retry_after("90").list(200, 53, 60)), 1, "the minute is running");
    }
}
