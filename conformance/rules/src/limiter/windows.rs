//! Windows: which answers report the same one, which successes were certainly counted in it, and which are too short to be windows.

use std::collections::BTreeMap;

use super::arrival::Arrival;
use super::key::{Answer, KeyLimits};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

impl<'h> KeyLimits<'h> {
    /// The successful requests, in the order of sending, by the window that their headers report; those left out that may have been
    /// counted in the one before, and those that came when it was over.
    #[must_use]
    pub fn windows(&self) -> &[Vec<Answer<'h>>] {
        self.windows.get_or_init(|| {
            let mut windows: Vec<Vec<Answer<'_>>> = Vec::new();
            let is_over = |at: &Answer<'_>| Arrival::of(at.entry).is_some_and(|came| came.earliest >= at.window.reset);
            let is_certain =
                |at: &&Answer<'_>| at.entry.succeeded() && !is_over(at) && !self.may_be_of_the_one_before(at);
            let certain = self.answers().iter().filter(is_certain);
            for &answer in certain {
                let belongs = |first: &Answer<'_>| {
                    // Of a log of the last minute, one may have dropped out by then.
                    let apart = answer.entry.exchange.sent_at.duration_since(first.entry.exchange.sent_at);
                    let is_recent = apart < Tolerance::MINUTE.duration();
                    first.window.is_same(answer.window) && (is_recent || self.reports_day(answer.entry, answer.window))
                };
                match windows.iter_mut().find(|admitted| belongs(&admitted[0])) {
                    Some(admitted) => admitted.push(answer),
                    None => windows.push(vec![answer]),
                }
            }
            windows
        })
    }

    /// Whether a request may have been counted in the window before the one that its answer reports: it was under way when that one
    /// ended, and headers may describe the time at which they are written.
    #[must_use]
    pub fn may_be_of_the_one_before(&self, answer: &Answer<'_>) -> bool {
        let window = answer.window;
        let ended_meanwhile = |other: &Answer<'_>| {
            let before = other.window;
            let is_before = before.limit == window.limit && before.reset < window.reset && !before.is_same(window);
            let slack = Tolerance::CLOCK_SLACK.seconds();
            let ends = |arrival: Arrival| (arrival.earliest..=arrival.latest + slack).contains(&before.reset);
            is_before && Arrival::of(answer.entry).is_none_or(ends)
        };
        let is_first = !self.answers().iter().any(|other| other.window.is_same(window) && other.precedes(answer));
        is_first && (began_meanwhile(answer) || self.answers().iter().any(ended_meanwhile))
    }

    /// The windows that admitted more than their limit, each with its successes. A log of the last minute has no windows: it admits
    /// another whenever its oldest drops out. Nor does a counter that slides begin anew.
    pub fn over_admitted(&self) -> impl Iterator<Item = &[Answer<'h>]> {
        let over = |admitted: &&Vec<Answer<'_>>| admitted.len() as u64 > admitted[0].window.limit;
        // What slides is asked last, because it takes longest to find out.
        let has_windows = move || !self.is_sliding_log() && !self.is_sliding_counter();
        self.windows().iter().filter(over).take_while(move |_| has_windows()).map(Vec::as_slice)
    }
}

/// Whether a window on the clock, of which nothing was used when the answer went out, may have begun while the request was under way.
/// One from the first request always does.
fn began_meanwhile(answer: &Answer<'_>) -> bool {
    let Window { limit, remaining, reset } = answer.window;
    let minute = Tolerance::MINUTE.seconds();
    let is_on_the_clock = (reset + 1).rem_euclid(minute) <= Tolerance::ROUNDING.seconds();
    let may_begin = |arrival: Arrival| {
        let begins = |length: Tolerance| (arrival.earliest..=arrival.latest + 1).contains(&(reset - length.seconds()));
        begins(Tolerance::MINUTE) || begins(Tolerance::DAY)
    };
    remaining == limit && is_on_the_clock && Arrival::of(answer.entry).is_none_or(may_begin)
}

/// Answers that report two windows of one limit whose ends lie apart, but by less than a minute: the first of its minute, and another.
pub(crate) fn short_windows<'m, 'h>(answers: &'m [Answer<'h>]) -> impl Iterator<Item = [Answer<'h>; 2]> + 'm {
    let mut firsts: BTreeMap<u64, Answer<'h>> = BTreeMap::new();
    // Where nothing has been counted, no window from the first request runs, and the end is that of one which would begin now.
    let is_of_a_window = |answer: &&Answer<'_>| answer.window.remaining < answer.window.limit;
    answers.iter().filter(is_of_a_window).filter_map(move |&answer| {
        let first = firsts.entry(answer.window.limit).or_insert(answer);
        let apart = answer.window.reset.saturating_sub(first.window.reset);
        if apart >= Tolerance::KEPT.seconds() {
            *first = answer;
            return None;
        }
        (apart > Tolerance::CLOCK_SLACK.seconds()).then_some([*first, answer])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_window_is_the_same_although_its_end_is_rounded_differently() {
        let window = |limit, reset| Window { limit, remaining: 5, reset };
        assert!(window(60, 1_000).is_same(window(60, 1_001)));
        assert!(!window(60, 1_000).is_same(window(60, 1_060)));
        assert!(!window(60, 1_000).is_same(window(1_000, 1_000)));
    }

    #[test]
    fn a_window_whose_end_is_rounded_now_up_and_now_down_is_over_admitted_as_one() {
        let admitted = |count: u64| {
            let lists = (0..count).fold(TraceBuilder::new(), |builder, at| {
                let rounded = if at % 2 == 0 { builder.window(50) } else { builder.window(51) };
                rounded.list(200, 2_u64.saturating_sub(at), 3)
            });
            lists.main_key(|key| key.over_admitted().count())
        };
        assert_eq!(admitted(3), 0);
        assert_eq!(admitted(4), 1);
    }

    #[test]
    fn a_request_under_way_when_a_minute_of_the_clock_begins_may_have_been_counted_in_the_one_before() {
        let begun = |time: &str, ahead: i64, remaining: u64| {
            let first = TraceBuilder::at(time).window(ahead).list(200, remaining, 2).slow(1);
            first.lists(2, &[(200, 1), (200, 0)])
        };
        let admitted =
            |time: &str, ahead, remaining| begun(time, ahead, remaining).main_key(|key| key.over_admitted().count());
        assert_eq!(admitted("2026-06-01T12:00:00Z", 60, 2), 0);
        assert_eq!(admitted("2026-06-01T12:00:01Z", 59, 2), 0);
        assert_eq!(admitted("2026-06-01T11:59:59Z", 60, 2), 0, "an end that is rounded down");
        assert_eq!(admitted("2026-06-01T11:59:59Z", 61, 2), 0, "it begins in the second after the answer");
        assert_eq!(admitted("2026-06-01T12:00:05Z", 55, 2), 1, "the minute had begun");
        assert_eq!(admitted("2026-06-01T12:00:00Z", 60, 1), 1, "it is counted in this one");
        assert_eq!(admitted("2026-06-01T12:00:20Z", 60, 2), 1, "a window from the first request");
    }

    #[test]
    fn a_request_under_way_when_the_window_before_ends_may_have_been_counted_in_it() {
        let may_be = |wait: i64, change: fn(TraceBuilder) -> TraceBuilder| {
            let first = TraceBuilder::new().window(10).list(200, 5, 7).wait(wait);
            let second = change(first.window(70 - wait).list(200, 6, 7));
            second.main_key(|key| key.may_be_of_the_one_before(&key.answers()[1]))
        };
        assert!(may_be(12, |builder| builder.slow(4)));
        assert!(may_be(8, |builder| builder) && !may_be(7, |builder| builder), "within the slack of clocks");
        assert!(may_be(10, |builder| builder) && !may_be(11, |builder| builder));
        let back = TraceBuilder::new().window(70).list(200, 5, 7).window(10).wait(8).list(200, 6, 7);
        assert!(!back.main_key(|key| key.may_be_of_the_one_before(&key.answers()[1])), "none that ends later");
    }

    #[test]
    fn a_minute_apart_two_answers_of_one_reset_are_not_of_one_window() {
        let windows = |millis| {
            let first = TraceBuilder::new().window(61).list(200, 6, 7).change_last(|exchange| {
                exchange.received_at = exchange.sent_at;
            });
            let second = first.list(200, 5, 7).change_last(|exchange| {
                let began: jiff::Timestamp = "2026-06-01T12:00:00Z".parse().expect("a time");
                exchange.sent_at = began + jiff::SignedDuration::from_millis(millis);
                exchange.received_at = exchange.sent_at;
            });
            second.main_key(|key| key.windows().len())
        };
        assert_eq!(windows(59_999), 1);
        assert_eq!(windows(60_000), 2);
    }

    #[test]
    fn where_nothing_is_counted_no_window_is_short() {
        let short = |remaining| {
            let first = TraceBuilder::new().window(60).list(200, remaining, 7);
            let second = first.wait(20).window(60).list(200, remaining, 7);
            second.main_key(|key| short_windows(key.answers_outside_bans()).count())
        };
        assert_eq!(short(6), 1);
        assert_eq!(short(7), 0);
    }

    #[test]
    fn a_log_of_the_last_minute_is_never_over_admitted() {
        let first = TraceBuilder::new().window(60).list(200, 1, 2).wait(30).list(200, 0, 2);
        let short = first.wait(31).window(29).list(200, 0, 2).wait(139);
        // Of two requests a second apart the first may have dropped out when the third comes, and the ends of both are one.
        let log = short.window(60).list(200, 1, 2).wait(1).list(200, 0, 2).wait(58).window(2).list(200, 0, 2);
        let found = log.main_key(|key| {
            let most = key.windows().iter().map(Vec::len).max();
            (key.is_sliding_log(), most, key.over_admitted().count())
        });
        assert_eq!(found, (true, Some(3), 0));
    }
}
