//! Pacing: how much of a key's minute is left, and how long it lasts, as probes ask.

use jiff::{SignedDuration, Timestamp};

use super::Kind;
use super::keys::{Answer, KeyLimits};
use crate::history::Entry;
use crate::request::Operation;
use crate::tolerance::Tolerance;

impl<'h> KeyLimits<'h> {
    /// The limit of the minute, where the last answer reports the day and the plan is known.
    #[must_use]
    pub fn minute_behind_day(&self) -> Option<u64> {
        let last = self.answers().last()?;
        let plan_limits = self.plan_limits().filter(|_| self.reports_day(last.entry, last.window))?;
        Some(plan_limits.per_minute)
    }

    /// How many requests of this run may count against the minute that ends now.
    #[must_use]
    pub fn sent_in_minute(&self, now: Timestamp) -> u64 {
        let may_count = |entry: &&Entry<'_>| {
            let age = now.duration_since(entry.exchange.sent_at);
            age <= Tolerance::LONGEST_MINUTE.duration() && (entry.key() == Some(self.index()) || self.may_bear(entry))
        };
        self.history.entries.iter().filter(may_count).count() as u64
    }

    /// How long the window of the last answer still lasts, if its headers report an end within a minute.
    #[must_use]
    pub fn minute_left(&self, now: Timestamp) -> Option<SignedDuration> {
        let last = self.answers().last()?;
        if last.left() > Tolerance::LONGEST_MINUTE.seconds() {
            return None;
        }
        let since = now.duration_since(last.entry.exchange.received_at);
        let left = SignedDuration::from_secs(last.left().saturating_sub(since.as_secs()));
        (!left.is_negative()).then_some(left)
    }

    /// How long after a 429 its window is over: at the reset, unless the headers report a day that is not exhausted, in which case it
    /// is the minute that is.
    #[must_use]
    pub fn window_ends_in(&self, limited: &Answer<'_>) -> SignedDuration {
        if self.reports_day(limited.entry, limited.window) && limited.window.remaining > 0 {
            return Tolerance::MINUTE.duration();
        }
        SignedDuration::from_secs(limited.left())
    }

    /// Whether the window of the last answer, or the minute that ends now, has admitted more than its limit, so that there is nothing left
    /// to wait for. A minute touches two windows at most.
    #[must_use]
    pub fn is_over_admitted(&self, now: Timestamp) -> bool {
        let Some(last) = self.answers().last() else { return self.admits_two_minutes_at_once(now) };
        let of_window = |answer: &&Answer<'h>| answer.entry.succeeded() && answer.window.is_same(last.window);
        let is_over = self.answers().iter().filter(of_window).count() as u64 > last.window.limit;
        let mut findings = self.explanation().of_kinds(&[Kind::OverAdmitted]);
        let is_present = |window: super::Window| window.is_same(last.window);
        is_over && findings.any(|finding| finding.window(0).is_some_and(is_present))
            || self.admits_two_minutes_at_once(now)
    }

    fn admits_two_minutes_at_once(&self, now: Timestamp) -> bool {
        let Some(plan_limits) = self.plan_limits() else { return false };
        let is_recent_success = |entry: &&Entry<'_>| {
            entry.key() == Some(self.index())
                && entry.operation != Operation::Elsewhere
                && entry.succeeded()
                && now.duration_since(entry.exchange.sent_at) < Tolerance::MINUTE.duration()
        };
        self.history.entries.iter().filter(is_recent_success).count() as u64 > 2 * plan_limits.per_minute
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::keys::KeyLimits;
    use crate::catalogue::plan::PlanLimits;
    use crate::trace::exchange::Request;
    use crate::trace_builder::TraceBuilder;

    /// The answer of the limits of the main key to a question, at the time of the last response, on a plan with these limits.
    fn at_the_end<R>(
        builder: TraceBuilder,
        plan_limits: Option<PlanLimits>,
        ask: impl FnOnce(&KeyLimits<'_>, jiff::Timestamp) -> R,
    ) -> R {
        builder.plan(plan_limits).main_key(|key| {
            let now = key.answers().last().expect("an answer").entry.exchange.received_at;
            ask(key, now)
        })
    }

    const FREE: Option<PlanLimits> = Some(PlanLimits { per_minute: 60, per_day: 1_000 });

    #[test]
    fn a_minute_may_be_reported_as_a_little_longer_than_one() {
        let left = |ahead, limit, plan| {
            at_the_end(TraceBuilder::new().window(ahead).list(200, 5, limit), plan, |key, now| key.minute_left(now))
        };
        let seconds = |count| Some(SignedDuration::from_secs(count));
        assert_eq!(left(30, 7, None), seconds(30));
        assert_eq!(left(62, 7, None), seconds(62), "rounded");
        assert_eq!(left(63, 7, None), None, "a day");
        assert_eq!(left(-1, 7, None), None, "it is over");
        assert_eq!(left(30, 60, FREE), seconds(30));
        assert_eq!(left(30, 1_000, FREE), seconds(30), "the last seconds of a day end within the minute too");
    }

    #[test]
    fn what_is_left_of_a_minute_grows_less_while_nothing_is_sent() {
        let later = |seconds| {
            at_the_end(TraceBuilder::new().window(30).list(200, 5, 7), None, |key, now| {
                key.minute_left(now + SignedDuration::from_secs(seconds))
            })
        };
        assert_eq!(later(20), Some(SignedDuration::from_secs(10)));
        assert_eq!(later(31), None);
    }

    #[test]
    fn requests_count_against_a_minute_for_as_long_as_clocks_are_uncertain() {
        let counted = |seconds| {
            let builder = TraceBuilder::new().window(3_600).list(200, 900, 1_000).key("sk-Other").list(200, 5, 60);
            let builder = builder.key("unknown").list(401, 5, 60).window(3_600).list(401, 5, 1_000);
            let lists = builder.key("sk-Key1").wait(seconds).window(3_600 - seconds).list(200, 899, 1_000);
            at_the_end(lists, FREE, |key, now| key.sent_in_minute(now))
        };
        assert_eq!(counted(0), 3, "of those without a valid key the one that the same window is reported to");
        assert_eq!(counted(61), 3);
        assert_eq!(counted(62), 1, "the last alone");
    }

    #[test]
    fn more_than_two_minutes_admit_within_a_minute_is_nothing_to_wait_for() {
        let lists =
            |count: u64| (0..count).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
        let over = |count, later| {
            at_the_end(lists(count), FREE, |key, now| key.is_over_admitted(now + SignedDuration::from_secs(later)))
        };
        assert!(!over(120, 0));
        assert!(over(121, 0));
        assert!(!over(121, 60), "a minute ago");
        let since_the_first = |millis| {
            at_the_end(lists(121), FREE, |key, _| {
                let first = key.answers()[0].entry.exchange.sent_at;
                key.is_over_admitted(first + SignedDuration::from_millis(millis))
            })
        };
        assert_eq!((since_the_first(59_999), since_the_first(60_000)), (true, false));
        let others = |builder: TraceBuilder| at_the_end(builder, FREE, |key, now| key.is_over_admitted(now));
        assert!(others(lists(120).key("sk-Other").list(200, 5, 60).key("sk-Key1").list(200, 880, 1_000)));
        assert!(!others(lists(119).key("sk-Other").list(200, 5, 60).key("sk-Key1").list(200, 881, 1_000)));
        let elsewhere = Request::new("GET", "/conform-no-such-path");
        assert!(!others(lists(119).ask(elsewhere, 200, String::new()).list(200, 881, 1_000)), "another path");
    }

    #[test]
    fn more_than_the_limit_of_a_window_is_nothing_to_wait_for_until_the_next() {
        let first = || TraceBuilder::new().window(50);
        let lists = |count: u64| (0..count).fold(first(), |s, at| s.list(200, 2_u64.saturating_sub(at), 3));
        let over = |builder: TraceBuilder| at_the_end(builder, None, |key, now| key.is_over_admitted(now));
        assert!(!over(lists(3)));
        assert!(over(lists(4)));
        let rounded = TraceBuilder::new().window(50).list(200, 0, 1).window(51).list(200, 0, 1);
        assert!(over(rounded), "the end of one window, rounded differently");
        assert!(!over(lists(4).wait(60).window(60).list(200, 2, 3)), "the next window");
    }

    #[test]
    fn a_minute_is_behind_a_reported_day_of_a_known_plan() {
        let behind = |limit, plan| {
            let builder = TraceBuilder::new().window(3_600).list(200, 5, limit);
            at_the_end(builder, plan, |key, _| key.minute_behind_day())
        };
        assert_eq!(behind(1_000, FREE), Some(60));
        assert_eq!(behind(1_000, None), Some(60), "the plan shows in the limit of its day");
        assert_eq!(behind(700, None), None, "no plan has such a day");
        let minute = TraceBuilder::new().window(30).list(200, 5, 60);
        assert_eq!(at_the_end(minute, FREE, |key, _| key.minute_behind_day()), None, "the minute is what is reported");
    }

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
}
