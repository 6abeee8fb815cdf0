//! Pacing: the rest of a key's minute and its end, by which probes pace their requests.

use jiff::{SignedDuration, Timestamp};

use super::Kind;
use super::keys::{Answer, KeyLimits};
use crate::tolerance::Tolerance;

impl KeyLimits<'_> {
    /// The limit of the minute, where the last answer reports the day and the plan is known.
    pub fn minute_behind_day(&self) -> Option<u64> {
        let last = self.answers().last()?;
        let plan_limits = self.plan_limits().filter(|_| self.reports_day(last))?;
        Some(plan_limits.per_minute)
    }

    /// The number of requests of this run that may count against the minute that ends now.
    pub fn sent_in_minute(&self, now: Timestamp) -> u64 {
        let longest = Tolerance::LONGEST_MINUTE.duration();
        let recent = self.history.entries.iter().filter(|entry| now.duration_since(entry.exchange.sent_at) <= longest);
        recent.filter(|entry| entry.key() == Some(self.index()) || self.may_bear(entry)).count() as u64
    }

    /// The time until the window of the last answer ends, if its Reset lies within a minute.
    pub fn minute_left(&self, now: Timestamp) -> Option<SignedDuration> {
        let last = self.answers().last()?;
        if last.is_far() {
            return None;
        }
        let since = now.duration_since(last.entry.exchange.received_at);
        let left = SignedDuration::from_secs(last.left().saturating_sub(since.as_secs()));
        (!left.is_negative()).then_some(left)
    }

    /// The time from a 429 to the end of its window: until Reset. If the header fields report a day that is not exhausted, the minute is
    /// exhausted, and the time is a minute.
    pub fn window_ends_in(&self, limited: &Answer<'_>) -> SignedDuration {
        if self.reports_day(limited) && limited.window.remaining > 0 {
            return Tolerance::MINUTE.duration();
        }
        SignedDuration::from_secs(limited.left())
    }

    /// Returns true if the window of the last answer, or the minute that ends now, has admitted more than its limit, so that a probe need
    /// not wait for a refusal. A minute touches two windows at most.
    pub fn is_over_admitted(&self, now: Timestamp) -> bool {
        self.is_last_window_over_admitted() || self.admits_two_minutes_at_once(now)
    }

    /// Returns true if more requests succeeded in the window of the last answer than its limit, and the explanation holds that against it.
    fn is_last_window_over_admitted(&self) -> bool {
        let Some(last) = self.answers().last() else { return false };
        let in_window = self.answers().iter().filter(|answer| answer.window.is_same(last.window));
        in_window.filter(|answer| answer.entry.succeeded()).count() as u64 > last.window.limit
            && self
                .explanation()
                .of_kinds(&[Kind::OverAdmitted])
                .any(|finding| finding.window(0).is_some_and(|window| window.is_same(last.window)))
    }

    /// Returns true if more requests of operations succeeded within the last minute than two minutes of the plan admit.
    fn admits_two_minutes_at_once(&self, now: Timestamp) -> bool {
        let Some(plan_limits) = self.plan_limits() else { return false };
        let mut successes = 0;
        for entry in self.history.entries.iter().filter(|entry| entry.key() == Some(self.index())) {
            let is_recent = now.duration_since(entry.exchange.sent_at) < Tolerance::MINUTE.duration();
            successes += u64::from(is_recent && entry.is_of_operation() && entry.succeeded());
        }
        successes > 2 * plan_limits.per_minute
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::keys::KeyLimits;
    use crate::catalogue::plan::PlanLimits;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;

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
        let later = |ahead, limit, plan, seconds| {
            at_the_end(TraceBuilder::new().window(ahead).list(200, 5, limit), plan, |key, now| {
                key.minute_left(now + SignedDuration::from_secs(seconds))
            })
        };
        let left = |ahead, limit, plan| later(ahead, limit, plan, 0);
        let seconds = |count| Some(SignedDuration::from_secs(count));
        assert_eq!((later(30, 7, None, 20), later(30, 7, None, 31)), (seconds(10), None), "nothing is sent meanwhile");
        assert_eq!(left(30, 7, None), seconds(30));
        assert_eq!(left(62, 7, None), seconds(62), "rounded");
        assert_eq!(left(63, 7, None), None, "a day");
        assert_eq!(left(-1, 7, None), None, "it is over");
        assert_eq!(left(30, 60, FREE), seconds(30));
        assert_eq!(left(30, 1_000, FREE), seconds(30), "the last seconds of a day end within the minute too");
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
        let with = |builder: TraceBuilder| at_the_end(builder, FREE, |key, now| key.is_over_admitted(now));
        assert!(!with(lists(119).key("sk-Other").list(200, 5, 60).key("sk-Key1").list(200, 881, 1_000)), "another key");
        let elsewhere = Request::new("GET", "/conform-no-such-path");
        assert!(!with(lists(119).ask(elsewhere, 200, String::new()).list(200, 881, 1_000)), "another path");
    }

    #[test]
    fn more_than_the_limit_of_a_window_is_nothing_to_wait_for_until_the_next() {
        let first = || TraceBuilder::new().window(50);
        let lists = |count: u64| (0..count).fold(first(), |s, at| s.list(200, 2_u64.saturating_sub(at), 3));
        let over = |builder: TraceBuilder| at_the_end(builder, None, |key, now| key.is_over_admitted(now));
        assert!(!over(lists(3)));
        assert!(over(lists(4)));
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
