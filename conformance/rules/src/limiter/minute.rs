//! The minute: how much of it is left, how many requests it may have counted, and what only the traffic shows where the headers
//! report the day.

use jiff::{SignedDuration, Timestamp};

use super::key::{Answer, KeyLimits};
use crate::history::Entry;
use crate::limits::Kind;
use crate::request::Operation;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

impl<'h> KeyLimits<'h> {
    /// Whether the headers report the day, and this run alone may have exhausted the minute behind it.
    #[must_use]
    pub fn minute_is_exhausted(&self, limited: &Entry<'_>, window: Window) -> bool {
        if !self.reports_day(limited, window) {
            return self.may_end_with_the_day(window);
        }
        // Of a minute whose figure is unknown nothing can be said.
        let Some(plan_limits) = self.plan_limits() else { return true };
        // Of requests at the same time, any may have been counted first.
        let may_be_before = |entry: &Entry<'_>| !std::ptr::eq(entry, limited) && !limited.precedes(entry);
        let ages = self.ages(may_be_before, window, limited.exchange.received_at);
        most_counted(&ages) >= plan_limits.per_minute
    }

    /// How many requests of this run may count against the minute that ends now, given the window of the last answer.
    #[must_use]
    pub fn sent_in_minute(&self, window: Window, now: Timestamp) -> u64 {
        let ages = self.ages(|_| true, window, now);
        ages.iter().filter(|age| **age <= Tolerance::LONGEST_MINUTE.duration()).count() as u64
    }

    /// How long ago requests were sent that may count against the minute, or weigh in it.
    fn ages(&self, is_asked_for: impl Fn(&Entry<'_>) -> bool, window: Window, until: Timestamp) -> Vec<SignedDuration> {
        let counts = |entry: &&Entry<'_>| is_asked_for(entry) && self.may_count(entry, window);
        let entries = self.history.entries.iter().filter(counts);
        let ages = entries.map(|entry| until.duration_since(entry.exchange.sent_at));
        ages.filter(|age| *age <= longest_age()).collect()
    }

    /// The limit of the minute, where the last answer reports the day and the plan is known.
    #[must_use]
    pub fn minute_behind_day(&self) -> Option<u64> {
        let last = self.answers().last()?;
        let plan_limits = self.plan_limits().filter(|_| self.reports_day(last.entry, last.window))?;
        Some(plan_limits.per_minute)
    }

    /// The first and the last of more successes within a minute than two minutes admit: an interval shorter than a minute touches
    /// two windows at most, wherever they begin. Where the headers report the day, or nothing, the minute shows in nothing else.
    pub fn bursts(&self) -> impl Iterator<Item = [&'h Entry<'h>; 2]> {
        let most = self.plan_limits().map(|plan_limits| 2 * plan_limits.per_minute as usize);
        let of_key = |entry: &&Entry<'_>| entry.key() == Some(self.index) && entry.operation != Operation::Elsewhere;
        let admitted: Vec<&'h Entry<'h>> =
            self.history.entries.iter().filter(of_key).filter(|entry| entry.succeeded()).collect();
        let last = most.map_or(0, |most| admitted.len().saturating_sub(most));
        (0..last).filter_map(move |at| {
            let [first, last] = [admitted[at], admitted[at + most?]];
            let took = last.exchange.received_at.duration_since(first.exchange.sent_at);
            (took < Tolerance::MINUTE.duration()).then_some([first, last])
        })
    }

    /// Whether so much was admitted, in the window of the last answer or in the minute that ends now, that there is nothing left to
    /// wait for.
    #[must_use]
    pub fn is_over_admitted(&self, now: Timestamp) -> bool {
        let is_recent = |first: &Entry<'_>| now.duration_since(first.exchange.sent_at) < Tolerance::MINUTE.duration();
        let is_present = |last: &Answer<'_>| {
            let is_of_it = |window: Option<Window>| window.is_some_and(|window| window.is_same(last.window));
            let of_window = self.answers().iter().filter(|at| at.entry.succeeded() && is_of_it(Some(at.window)));
            of_window.count() as u64 > last.window.limit
                && self.explanation().of_kinds(&[Kind::OverAdmitted]).any(|finding| is_of_it(finding.window(0)))
        };
        self.answers().last().is_some_and(is_present) || self.bursts().any(|[first, _]| is_recent(first))
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
}

/// How long a request counts against the minute, or weighs in the next one.
fn longest_age() -> SignedDuration {
    Tolerance::LONGEST_MINUTE.duration() + Tolerance::MINUTE.duration()
}

/// The most that requests sent so long ago can count for, wherever a minute begins: of a counter that slides, those of the minute before
/// still weigh by the part of it that lies in the last one.
fn most_counted(ages: &[SignedDuration]) -> u64 {
    let minute = Tolerance::MINUTE.seconds();
    let since = |seconds: i64| {
        let begin = SignedDuration::from_secs(seconds) + Tolerance::CLOCK_SLACK.duration();
        let present = ages.iter().filter(|age| **age <= begin).count() as u64;
        let before =
            ages.iter().filter(|age| **age > begin && **age <= begin + Tolerance::MINUTE.duration()).count() as u64;
        present + (before * minute.abs_diff(seconds)).div_ceil(minute.unsigned_abs())
    };
    (0..=minute).map(since).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::key::KeyLimits;
    use crate::catalogue::plan::PlanLimits;
    use crate::trace::exchange::Request;
    use crate::trace_builder::TraceBuilder;

    /// What the facts about the main key say at the time of the last answer, of a plan with these limits.
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
            at_the_end(lists, FREE, |key, now| key.sent_in_minute(key.answers()[1].window, now))
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
        let bursts = |builder: TraceBuilder| at_the_end(builder, FREE, |key, _| key.bursts().count());
        assert_eq!((bursts(lists(121)), bursts(lists(122))), (1, 2));
        assert_eq!(bursts(lists(120).key("sk-Other").list(200, 5, 60).key("sk-Key1").list(200, 880, 1_000)), 1);
        assert_eq!(bursts(lists(119).key("sk-Other").list(200, 5, 60).key("sk-Key1").list(200, 881, 1_000)), 0);
        let elsewhere = Request::new("GET", "/conform-no-such-path");
        assert_eq!(bursts(lists(119).ask(elsewhere, 200, String::new()).list(200, 881, 1_000)), 0, "another path");
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
    fn of_requests_at_the_same_time_the_refused_one_may_have_been_counted_last() {
        let last = || {
            let builder = (0..59).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
            builder.list(429, 940, 1_000).list(200, 940, 1_000).plan(FREE)
        };
        let is_exhausted = |builder: TraceBuilder| {
            builder.main_key(|key| key.minute_is_exhausted(key.answers()[59].entry, key.answers()[59].window))
        };
        assert!(is_exhausted(last().together(60..=61)));
        assert!(!is_exhausted(last()), "one after the other");
    }

    #[test]
    fn where_the_day_is_reported_the_minute_behind_it_is_exhausted_by_as_many_as_its_limit() {
        let decided = |lists: u64, others: fn(TraceBuilder) -> TraceBuilder, wait: i64| {
            let builder = (0..lists).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
            others(builder).key("sk-Key1").wait(wait).list(429, 900, 1_000).main_key(|key| {
                let limited = key.answers()[lists as usize];
                key.minute_is_exhausted(limited.entry, limited.window)
            })
        };
        let alone = |lists, wait| decided(lists, |builder| builder, wait);
        assert!(alone(60, 0));
        assert!(!alone(59, 0), "the refused one is none of them");
        assert!(alone(60, 1), "they may have been counted in this minute");
        assert!(alone(60, 61), "clocks differ");
        assert!(!alone(60, 62), "the minute has ended, and of the weight of those before it some has decayed");
        assert!(alone(100, 80), "a hundred may still weigh two thirds");
        assert!(!alone(100, 90));
        assert!(
            !decided(59, |builder| builder.key("sk-Other").list(200, 5, 60), 0),
            "another key is counted by itself"
        );
        assert!(
            decided(59, |builder| builder.key("unknown").list(401, 940, 1_000), 0),
            "callers are distinguished by address"
        );
        assert!(
            !decided(59, |builder| builder.key("unknown").list(401, 5, 60), 0),
            "who has no key is counted by himself"
        );
        // Where nothing is reported, as many ways are open as the other answers show.
        fn silent(builder: TraceBuilder) -> TraceBuilder {
            builder.key("unknown").list(401, 940, 1_000).without_rate_limit()
        }
        assert!(!decided(58, silent, 0));
        assert!(decided(58, |builder| silent(builder).list(401, 940, 1_000), 0), "one address");
        assert!(!decided(58, |builder| silent(builder).list(401, 5, 60), 0));
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
    fn a_request_counts_once_in_this_minute_or_weighs_in_it() {
        let counted = |seconds| super::most_counted(&[SignedDuration::from_secs(seconds); 30]);
        assert_eq!([0, 2, 62].map(counted), [30; 3], "of this minute");
        assert_eq!(counted(92), 15, "half of it may still weigh");
        assert_eq!(counted(122), 0);
    }
}
