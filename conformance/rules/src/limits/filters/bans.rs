//! Possible bans: the refusals that may be due to a ban, whose header fields and end are the service's choice.

use std::collections::{BTreeMap, HashSet};

use jiff::SignedDuration;

use super::super::keys::{Answer, KeyLimits};
use crate::history::Entry;
use crate::tolerance::Tolerance;

impl<'h> KeyLimits<'h> {
    /// Returns true if a refusal may belong to a ban, whose end may lie anywhere: any refusal except the one that the requests of the run
    /// explain, and in a sample any refusal. The service chooses when a ban begins, and which responses come in between.
    pub fn may_be_ban(&self, entry: &Entry<'_>) -> bool {
        if entry.key() != Some(self.index) || !entry.is_limited() {
            return false;
        }
        self.history.is_sample() || self.explanation().earned.is_none_or(|earned| !std::ptr::eq(earned, entry))
    }

    /// The answers to the key that report its windows: without refusals that may belong to a ban, and without copies.
    pub fn answers_outside_bans(&self) -> impl Iterator<Item = &Answer<'h>> {
        self.answers().iter().filter(|answer| !self.may_be_ban(answer.entry) && !self.is_copy(answer))
    }

    /// The numbers of the refusals that may belong to a ban: every refusal except the first of a series, and that one too if it overlaps
    /// another refusal, has no readable header fields, or asks for a longer wait than its window lasts. The first refusal of the trace is
    /// left out, unless it overlaps another one, or no response came before it and none reports its window again.
    pub(super) fn refusals_of_bans(&self, answers: &BTreeMap<usize, &Answer<'_>>) -> HashSet<usize> {
        let refusals: Vec<&Entry<'_>> =
            self.history.entries.iter().filter(|entry| entry.key() == Some(self.index) && entry.is_limited()).collect();
        let mut of_bans = HashSet::new();
        // The refusal that was answered last so far.
        let mut latest: Option<&Entry<'_>> = None;
        for (at, &limited) in refusals.iter().enumerate() {
            let number = limited.exchange.number;
            let is_alone = latest.is_none_or(|earlier| earlier.precedes(limited))
                && refusals.get(at + 1).is_none_or(|next| limited.precedes(next));
            let mut earlier = answers.range(..number).rev().map(|(_, answer)| answer.entry);
            let last = earlier.find(|entry| entry.precedes(limited));
            // Of responses at the same time, a refusal may have been the last one.
            let is_after_refusals = |last: &Entry<'_>| latest.is_none_or(|refusal| refusal.precedes(last));
            let is_first_of_series = is_alone && last.is_some_and(|last| !last.is_limited() && is_after_refusals(last));
            if latest.is_none_or(|earlier| earlier.exchange.received_at < limited.exchange.received_at) {
                latest = Some(limited);
            }
            if is_alone && at == 0 && (last.is_some() || is_reported_again(limited, answers)) {
                continue;
            }
            if !is_first_of_series || answers.get(&number).is_none_or(|answer| self.waits_for_more(answer)) {
                of_bans.insert(number);
            }
        }
        of_bans
    }

    /// Returns true if a 429 asks for a wait that outlasts the exhausted window, or ends at midnight. The day may be exhausted while the
    /// header fields report the minute, or other clients may have caused a ban of the key.
    fn waits_for_more(&self, limited: &Answer<'_>) -> bool {
        let longest = if self.reports_day(limited) && limited.window.remaining > 0 {
            // The minute behind the day is exhausted, or the key is banned.
            Tolerance::LONGEST_MINUTE.duration() + Tolerance::LONGER_WAIT.duration()
        } else {
            SignedDuration::from_secs(limited.left()) + Tolerance::MINUTE.duration()
        };
        limited.entry.wait_asked_for().is_some_and(|wait| wait > longest || ends_at_midnight(limited.entry, wait))
    }
}

/// Returns true if a later response that is no refusal reports the window of a refusal. The end of a ban ends no window.
fn is_reported_again(limited: &Entry<'_>, answers: &BTreeMap<usize, &Answer<'_>>) -> bool {
    let Some(refused) = answers.get(&limited.exchange.number) else { return false };
    let mut later = answers.range(limited.exchange.number + 1..);
    later.any(|(_, answer)| !answer.entry.is_limited() && answer.window.is_same(refused.window))
}

/// Returns true if a wait ends with the day of the server's clock, or a few seconds later. Without a `Date` that clock is taken to be up
/// to a minute off.
fn ends_at_midnight(limited: &Entry<'_>, wait: SignedDuration) -> bool {
    let is_dated = limited.server_time().is_some();
    let slack = if is_dated { Tolerance::CLOCK_SLACK } else { Tolerance::MINUTE }.seconds();
    let end = limited.answered_at().as_second().saturating_add(wait.as_secs()).saturating_add(slack);
    end.rem_euclid(Tolerance::DAY.seconds()) <= Tolerance::LONGER_WAIT.seconds() + 2 * slack
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::plan::PlanLimits;
    use crate::history::History;
    use crate::limits::Limiter;
    use crate::tests::TraceBuilder;

    #[test]
    fn refusals_that_the_run_has_not_earned_may_be_bans() {
        const NONE: [usize; 0] = [];
        let possible = |builder: TraceBuilder| {
            let trace = builder.trace();
            let history = History::new(&trace);
            let limiter = Limiter::new(&history);
            let may_be_ban = |entry: &&Entry<'_>| limiter.limits_of(entry).is_some_and(|key| key.may_be_ban(entry));
            history.entries.iter().filter(may_be_ban).map(|entry| entry.exchange.number).collect::<Vec<_>>()
        };
        let reported = |answers: &[(u16, u64)]| possible(TraceBuilder::new().lists(7, answers));
        assert_eq!(reported(&[(429, 0), (200, 6)]), [1], "a run before");
        assert_eq!(reported(&[(200, 2), (429, 0)]), [2], "another client");
        assert_eq!(reported(&[(200, 1), (429, 0)]), NONE, "reported before it was counted");
        assert_eq!(reported(&[(200, 0), (429, 0), (404, 0), (429, 0)]), [4], "not the first");
        assert_eq!(reported(&[(200, 6), (200, 2), (200, 1), (200, 0), (429, 0)]), [5], "there is somebody else");
        let later = |seconds| TraceBuilder::new().list(200, 0, 7).wait(seconds).list(429, 0, 7);
        assert_eq!(possible(later(59)), NONE);
        assert_eq!(possible(later(61)), [2], "the window is over");
        assert_eq!(possible(TraceBuilder::new().list(429, 0, 7).list(429, 0, 7).together(1..=2)), [1, 2]);
        assert_eq!(
            possible(TraceBuilder::new().list(200, 0, 7).key("sk-Other").list(429, 0, 7)),
            [2],
            "each key by itself"
        );
        assert_eq!(possible(TraceBuilder::new().key("nobody").list(429, 0, 7)), NONE, "no key is no ban");
    }

    #[test]
    fn a_first_refusal_is_of_a_ban_where_nothing_shows_that_its_window_was_exhausted() {
        let of_bans = |builder: TraceBuilder| {
            builder.main_key(|key| {
                let answers: BTreeMap<usize, &Answer<'_>> =
                    key.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
                let mut numbers: Vec<usize> = key.refusals_of_bans(&answers).into_iter().collect();
                numbers.sort_unstable();
                numbers
            })
        };
        let refused = || TraceBuilder::new().list(429, 0, 7);
        assert_eq!(of_bans(refused().list(200, 6, 7)), [0; 0], "its window is reported again");
        assert_eq!(
            of_bans(refused().wait(61).window(60).list(200, 6, 7)),
            [1],
            "a ban of an earlier run may have ended"
        );
        assert_eq!(
            of_bans(TraceBuilder::new().list(200, 0, 7).list(429, 0, 7)),
            [0; 0],
            "the run may have exhausted it"
        );
        let together = TraceBuilder::new().list(429, 0, 7).list(200, 1, 7).list(200, 0, 7);
        assert_eq!(of_bans(together.together(1..=3).list(429, 0, 7)), [4], "the first refusal may have come last");
    }

    #[test]
    fn a_minute_that_the_headers_do_not_report_may_be_exhausted_by_the_run_alone() {
        let mut exhausted = TraceBuilder::new().window(40_000).lists(1_000, &[(200, 900)]);
        exhausted = (0..60).fold(exhausted, |builder, used| builder.list(200, 899 - used, 1_000));
        let possible = |builder: TraceBuilder| {
            let plan_limits = PlanLimits { per_minute: 60, per_day: 1_000 };
            let refused = builder.list(429, 839, 1_000).plan(Some(plan_limits));
            refused.main_key(|key| key.answers().len() - key.answers_outside_bans().count())
        };
        assert_eq!(possible(exhausted), 0);
        assert_eq!(possible(TraceBuilder::new().window(40_000).lists(1_000, &[(200, 900), (200, 899)])), 1);
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
