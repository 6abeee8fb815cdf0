//! Possible bans: the refusals that may be due to a ban, whose headers and end are the service's choice.

use std::collections::HashSet;

use super::key::{Answer, KeyLimits};
use crate::history::Entry;

impl<'h> KeyLimits<'h> {
    /// Whether a refusal may be that of a ban, whose end may lie anywhere.
    ///
    /// Those of a key that may not be its first: when a ban comes, and what else comes in between, is the service's choice; of
    /// refusals at the same time, any may have been the later one. And the first as well, unless the run's own requests explain it:
    /// somebody else, or a run before, may have gone on with the key. Of a sample any refusal may be one.
    #[must_use]
    pub fn may_be_ban(&self, entry: &Entry<'_>) -> bool {
        self.bans().contains(&entry.exchange.number)
    }

    /// The answers to the key that report its windows: without those that may be of a ban, and without copies of earlier ones.
    #[must_use]
    pub fn answers_outside_bans(&self) -> &[Answer<'h>] {
        self.answers_outside_bans.get_or_init(|| {
            let reports = |answer: &Answer<'_>| !self.may_be_ban(answer.entry) && !self.is_copy(answer);
            self.answers().iter().copied().filter(reports).collect()
        })
    }

    /// The numbers of the refusals that may be of a ban.
    fn bans(&self) -> &HashSet<usize> {
        self.bans.get_or_init(|| {
            let is_refusal = |entry: &&Entry<'_>| entry.key() == Some(self.index) && entry.is_limited();
            let refusals: Vec<&Entry<'_>> = self.history.entries.iter().filter(is_refusal).collect();
            let is_first =
                |entry: &Entry<'_>| refusals.iter().all(|other| std::ptr::eq(entry, *other) || entry.precedes(other));
            let may_be =
                |entry: &&&Entry<'_>| self.history.is_sample() || !is_first(entry) || !self.is_own_doing(entry);
            refusals.iter().filter(may_be).map(|entry| entry.exchange.number).collect()
        })
    }

    /// Whether this run's own requests had exhausted what its answers said remained, when this one was refused.
    fn is_own_doing(&self, limited: &Entry<'_>) -> bool {
        let Some(before) = self.answers().iter().rev().find(|answer| answer.entry.precedes(limited)) else {
            return false;
        };
        let minute = || self.plan_limits().is_some() && self.minute_is_exhausted(limited, before.window);
        let exhausted = before.window.remaining <= self.history.sent_between(before.entry, limited) || minute();
        exhausted && limited.answered_at().as_second() <= before.window.reset && !self.has_other_traffic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::plan::PlanLimits;
    use crate::history::History;
    use crate::limiter::Limiter;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn refusals_that_the_run_has_not_earned_may_be_bans() {
        const NONE: [usize; 0] = [];
        let possible = |builder: TraceBuilder| {
            let trace = builder.trace();
            let history = History::new(&trace);
            let limiter = Limiter::new(&history);
            let may_be_ban = |entry: &&Entry<'_>| limiter.of(entry).is_some_and(|key| key.may_be_ban(entry));
            history.entries.iter().filter(may_be_ban).map(|entry| entry.exchange.number).collect::<Vec<_>>()
        };
        let reported = |answers: &[(u16, u64)]| possible(TraceBuilder::new().lists(7, answers));
        assert_eq!(reported(&[(429, 0), (200, 6)]), [1], "a run before");
        assert_eq!(reported(&[(200, 2), (429, 0)]), [2], "somebody else");
        assert_eq!(reported(&[(200, 1), (429, 0)]), NONE, "reported before it was counted");
        assert_eq!(reported(&[(200, 0), (429, 0), (404, 0), (429, 0)]), [4], "not the first");
        assert_eq!(reported(&[(200, 6), (200, 2), (200, 1), (200, 0), (429, 0)]), [5], "there is somebody else");
        let later = |seconds| TraceBuilder::new().list(200, 0, 7).wait(seconds).list(429, 0, 7);
        assert_eq!(possible(later(59)), NONE);
        assert_eq!(possible(later(61)), [2], "the window is over");
        assert_eq!(possible(later(59).dateless()), NONE);
        assert_eq!(possible(later(61).dateless()), [2]);
        assert_eq!(possible(TraceBuilder::new().list(429, 0, 7).list(429, 0, 7).together(1..=2)), [1, 2]);
        assert_eq!(
            possible(TraceBuilder::new().list(200, 0, 7).key("sk-Other").list(429, 0, 7)),
            [2],
            "each key by itself"
        );
        assert_eq!(possible(TraceBuilder::new().key("nobody").list(429, 0, 7)), NONE, "no key is no ban");
    }

    #[test]
    fn a_minute_that_the_headers_do_not_report_may_be_exhausted_by_the_run_alone() {
        let mut exhausted = TraceBuilder::new().lists(1_000, &[(200, 900)]);
        exhausted = (0..60).fold(exhausted, |builder, used| builder.list(200, 899 - used, 1_000));
        let possible = |builder: TraceBuilder| {
            let plan_limits = PlanLimits { per_minute: 60, per_day: 1_000 };
            let refused = builder.window(40_000).list(429, 839, 1_000).plan(Some(plan_limits));
            refused.main_key(|key| key.answers().len() - key.answers_outside_bans().len())
        };
        assert_eq!(possible(exhausted), 0);
        assert_eq!(possible(TraceBuilder::new().lists(1_000, &[(200, 900), (200, 899)])), 1);
    }
}
