//! Counters that slide between two windows: the requests of the last window on the clock count by the part of it that still lies in
//! the last minute.
//!
//! The specification does not say how windows are cut. With such a counter Remaining may rise within a window, or stay although a
//! request was counted, because the weight of the last window decays; and a request may be admitted soon after a refusal. Whether a
//! server counts like this can be calculated from the run's own requests: what they consumed in the last window has to be missing
//! from the next one, which is not so with windows that start at zero.

use super::arrival::Arrival;
use super::key::{Answer, KeyLimits};
use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::{RateHeaders, Window};

const MINUTE: i64 = Tolerance::MINUTE.seconds();

const SLACK: i64 = Tolerance::CLOCK_SLACK.seconds();

/// In milliseconds: of a server that calculates in whole seconds, that much decays at once.
const WHOLE_SECOND: u64 = 1_000;

/// The answers of one window, in order.
struct Minute<'m, 'h> {
    answers: &'m [Answer<'h>],
    /// The successes that certainly were counted in it.
    own: Vec<Answer<'h>>,
    /// The successes that certainly were counted in the window before.
    past: Vec<Answer<'h>>,
}

impl<'h> KeyLimits<'h> {
    /// Whether the answers are as a counter reports them that slides between two windows on the clock, and some are not as a window
    /// reports them that begins anew.
    #[must_use]
    pub fn is_sliding_counter(&self) -> bool {
        *self.sliding_counter.get_or_init(|| {
            let of_minutes = |answer: &&Answer<'_>| !self.reports_day(answer.entry, answer.window);
            let answers: Vec<Answer<'h>> = self.answers_outside_bans().iter().filter(of_minutes).copied().collect();
            let Some(first) = answers.first().map(|answer| answer.window) else { return false };
            if !answers.iter().all(|answer| answer.window.limit == first.limit && is_on_the_grid(answer, first)) {
                return false;
            }
            let is_certain = |answer: &&Answer<'_>| answer.entry.succeeded() && !self.may_be_of_the_one_before(answer);
            let certain: Vec<Answer<'h>> = answers.iter().filter(is_certain).copied().collect();
            let counted_until = |reset: i64| {
                certain.iter().filter(|answer| (answer.window.reset - reset).abs() <= SLACK).copied().collect()
            };
            let mut is_evident = false;
            let mut before: &[Answer<'h>] = &[];
            let is_possible = answers.chunk_by(|one, next| one.window.is_same(next.window)).all(|answers| {
                let reset = answers[0].window.reset;
                let (own, past) = (counted_until(reset), counted_until(reset - MINUTE));
                let minute = Minute { answers, own, past };
                is_evident |= minute.is_carried_into() || self.is_begun_with_a_rest(before, answers[0]);
                before = answers;
                minute.is_possible()
            });
            is_possible && is_evident
        })
    }
}

impl KeyLimits<'_> {
    /// Whether more was used when a window had begun than this run's own requests explain, and no more than those of the window before
    /// can weigh. Refusals may be counted or not.
    fn is_begun_with_a_rest(&self, before: &[Answer<'_>], first: Answer<'_>) -> bool {
        let Some(last) = before.last().filter(|last| last.precedes(&first)) else { return false };
        if (first.window.reset - last.window.reset - MINUTE).abs() > SLACK {
            return false;
        }
        // Where the whole limit shows, an answer may not report its own request.
        let counts_itself = !self.answers().iter().any(|answer| answer.window.remaining == answer.window.limit);
        let earlier = self.history.entries.iter().filter(|entry| {
            let is_itself = std::ptr::eq(*entry, first.entry);
            !first.entry.precedes(entry) && (!is_itself || counts_itself) && self.may_count(entry, first.window)
        });
        let begin = first.window.reset - MINUTE;
        let (mut sent, mut refused, mut past) = (0, 0, 0);
        // Headers are not written before the request is counted: what reports the window before was counted in none that came later.
        let reports_the_one_before = |entry: &Entry<'_>| {
            entry.rate.as_ref().and_then(RateHeaders::window).is_some_and(|window| window.is_same(last.window))
        };
        for entry in earlier {
            let may_be_from = |begin| Arrival::of(entry).is_none_or(|arrival| arrival.latest + SLACK >= begin);
            let may_be_of_this_one = may_be_from(begin) && (entry.is_limited() || !reports_the_one_before(entry));
            match (may_be_of_this_one, entry.is_limited()) {
                (true, false) => sent += 1,
                (true, true) => refused += 1,
                (false, _) => past += u64::from(may_be_from(begin - MINUTE)),
            }
        }
        let used = used(first.window);
        let least: u64 = used.saturating_sub(sent + refused).max(1);
        let left = first.ahead().map_or(MINUTE, |ahead| ahead + SLACK).clamp(0, MINUTE) as u64;
        used > sent && least <= (past * left).div_ceil(MINUTE as u64)
    }
}

/// Whether a window ends whole minutes after or before another one, within a minute from the answer.
fn is_on_the_grid(answer: &Answer<'_>, other: Window) -> bool {
    let off = (answer.window.reset - other.reset).rem_euclid(MINUTE);
    let is_whole = off <= SLACK || off >= MINUTE - SLACK;
    let lies_ahead = |Arrival { earliest, latest }: Arrival| {
        (earliest - SLACK..=latest + MINUTE + SLACK).contains(&answer.window.reset)
    };
    is_whole && Arrival::of(answer.entry).is_none_or(lies_ahead)
}

impl Minute<'_, '_> {
    /// Whether the run's own requests of the last window weigh.
    fn is_carried_into(&self) -> bool {
        self.answers.iter().any(|answer| self.least_weight(answer) > 0)
    }

    /// Whether every answer leaves room for the requests of this window and for what those of the last one weigh, and rises above
    /// no earlier one by more than that weight has decayed.
    fn is_possible(&self) -> bool {
        self.answers.iter().enumerate().all(|(at, answer)| {
            let earlier = [0, at.saturating_sub(1)].map(|at| self.answers[at]);
            let own = self.own.iter().filter(|own| own.precedes(answer)).count() as u64;
            let taken = own + self.least_weight(answer);
            used(answer.window) >= taken
                && (!answer.entry.succeeded() || taken < answer.window.limit)
                && earlier.iter().all(|earlier| !earlier.precedes(answer) || self.may_follow(earlier, answer))
        })
    }

    /// The least that the successes of the last window weigh.
    fn least_weight(&self, answer: &Answer<'_>) -> u64 {
        let left = answer.ahead().map_or(0, |ahead| ahead - SLACK);
        self.past.len() as u64 * left.clamp(0, MINUTE) as u64 / MINUTE as u64
    }

    /// Whether Remaining has not risen by more than the weight of the last window can have decayed.
    fn may_follow(&self, before: &Answer<'_>, after: &Answer<'_>) -> bool {
        let counted_before = self.own.iter().filter(|own| own.precedes(before)).count() as u64;
        let weight = used(before.window).saturating_sub(counted_before);
        let elapsed = after.entry.exchange.received_at.duration_since(before.entry.exchange.sent_at);
        let elapsed = elapsed.as_millis().max(0) as u64 + WHOLE_SECOND;
        let left = before.ahead().map_or(0, |ahead| ahead - SLACK).max(0) as u64;
        let decayed = if left * 1_000 <= elapsed { weight } else { ((weight + 1) * elapsed).div_ceil(left * 1_000) };
        let between = self.own.iter().filter(|own| before.precedes(own) && own.precedes(after)).count() as u64;
        let one_of_both = u64::from(before.entry.succeeded() && after.entry.succeeded());
        // What a failure cost may be given back.
        let given_back = u64::from(!before.entry.succeeded());
        used(after.window) + decayed.min(weight) + given_back >= used(before.window) + between + one_of_both
    }
}

fn used(window: Window) -> u64 {
    window.limit.saturating_sub(window.remaining)
}

#[cfg(test)]
mod tests {
    use crate::catalogue::plan::PlanLimits;
    use crate::rules::broken;
    use crate::trace_builder::TraceBuilder;

    fn is_sliding_counter(builder: TraceBuilder) -> bool {
        builder.main_key(|key| key.is_sliding_counter())
    }

    /// Five requests of a limit of six, ten seconds before the window ends. Ten seconds into the next one, four of them still count.
    fn five() -> TraceBuilder {
        let first = TraceBuilder::new().window(10);
        first.lists(6, &[(200, 5), (200, 4), (200, 3), (200, 2), (200, 1)]).wait(20).window(50)
    }

    /// The five weigh less and less, and Remaining rises.
    fn sliding() -> TraceBuilder {
        five().list(200, 1, 6).wait(20).list(200, 2, 6)
    }

    #[test]
    fn the_last_window_counts_by_the_part_of_it_that_lies_in_the_last_minute() {
        assert!(is_sliding_counter(sliding()));
        assert!(is_sliding_counter(five().list(200, 0, 6)), "somebody else's count too");
        assert!(!is_sliding_counter(five().list(200, 5, 6)), "the window begins anew");
        assert!(!is_sliding_counter(five().list(200, 3, 6)), "one is missing");
        assert!(!is_sliding_counter(five().list(200, 1, 6).wait(1).list(200, 3, 6)), "too soon");
        assert!(
            !is_sliding_counter(five().list(200, 1, 6).list(200, 1, 6).list(200, 1, 6)),
            "nothing decays in no time"
        );
        assert!(is_sliding_counter(five().list(200, 1, 6).list(200, 1, 6)), "but for a second that ends in between");
    }

    #[test]
    fn what_is_left_of_a_weight_shows_in_the_first_answer_of_a_window() {
        // Ten seconds before the next window ends, of five requests one may still count, or none.
        let late = |remaining| five().wait(40).window(10).lists(6, &[(200, remaining), (200, remaining)]);
        assert!(is_sliding_counter(late(4)));
        assert!(!is_sliding_counter(late(5)), "it begins with the request itself");
        assert!(!is_sliding_counter(late(3)), "two is more than they can weigh");
        let refused = |remaining| {
            let two = five().window(50).lists(6, &[(429, 0), (429, 0)]).wait(20).window(30);
            two.lists(6, &[(200, remaining), (429, 0)]).main_key(|key| {
                let answers = key.answers();
                key.is_begun_with_a_rest(&answers[..5], answers[7])
            })
        };
        assert!(refused(3), "the refusals were counted, or weigh");
        assert!(refused(0), "and both");
        // Within the slack of clocks, a request that came before the window began may have come after it.
        let just_before = |remaining| {
            let three = TraceBuilder::new().window(3).lists(5, &[(404, 4), (404, 3), (200, 2)]);
            let four = three.wait(6).window(57).list(200, remaining, 5);
            is_sliding_counter(four.wait(6).list(200, remaining - 1, 5))
        };
        assert!(just_before(2), "three that report the window before weigh two");
        assert!(!just_before(4), "the window begins anew");
        let whole = five().list(200, 6, 6);
        assert!(!is_sliding_counter(whole.list(200, 6, 6)), "nothing is carried over");
    }

    #[test]
    fn a_weight_decays_no_sooner_than_clocks_allow() {
        // By the server's clock; for clocks that disagree, two seconds more may be left. Two of the three used are left over.
        let left = |seconds: i64| five().wait(50 - seconds).window(seconds).lists(6, &[(200, 3), (200, 3)]);
        assert!(
            is_sliding_counter(left(11)),
            "thirteen seconds are more than a fifth of a minute, and five may weigh two"
        );
        assert!(!is_sliding_counter(left(10)), "twelve are a fifth, and five weigh one");
    }

    #[test]
    fn only_successes_are_certain_to_weigh() {
        // Three of five weigh two, with 48 seconds left of sixty at the least; five would weigh four.
        let failures = |remaining| {
            let first = TraceBuilder::new().window(10);
            let last = first.lists(6, &[(200, 5), (200, 4), (200, 3), (404, 3), (404, 3)]);
            is_sliding_counter(last.wait(20).window(50).list(200, remaining, 6))
        };
        assert!(failures(3) && failures(4));
        assert!(!failures(5), "two of the successes are missing");
    }

    #[test]
    fn requests_weigh_in_the_window_that_ends_a_minute_later() {
        // Without a Date, only the ends of windows say which follows which. One is the request's own, and three are left over.
        let apart = |seconds: i64| {
            let first = TraceBuilder::new().window(10).list(200, 5, 6).dateless().list(200, 4, 6).dateless();
            let last = first.list(200, 3, 6).dateless().wait(30);
            is_sliding_counter(last.window(seconds - 20).list(200, 2, 6).dateless())
        };
        assert!(apart(60));
        assert!(apart(58) && apart(62), "within the slack of clocks");
        assert!(!apart(57) && !apart(63));
        assert!(!apart(120), "in the window after the next nothing is left of them");
        // With a Date, what five weigh has to be missing: with 46 seconds left of sixty at the least three, with 50 four.
        let weighing = |ahead, remaining| is_sliding_counter(five().window(ahead).list(200, remaining, 6));
        assert!(weighing(48, 3) && !weighing(48, 4), "58 seconds after the end of the last");
        assert!(weighing(52, 2) && !weighing(52, 3), "62 seconds after it");
    }

    #[test]
    fn what_weighs_leaves_no_room_for_more_than_the_rest_of_the_limit() {
        // Of a limit of six, four are taken by what weighs.
        let third = |status| five().lists(6, &[(200, 1), (200, 0), (status, 0)]);
        assert!(is_sliding_counter(third(429)), "two had room");
        assert!(!is_sliding_counter(third(200)), "three had not");
    }

    #[test]
    fn where_the_whole_limit_shows_what_is_used_first_is_not_the_requests_own() {
        let late = |first: [(u16, u64); 3]| {
            let last = TraceBuilder::new().window(10).lists(6, &first).wait(60);
            is_sliding_counter(last.window(10).list(200, 5, 6))
        };
        assert!(late([(200, 6), (200, 5), (200, 4)]), "one of the three still weighs");
        assert!(!late([(200, 5), (200, 4), (200, 3)]), "the request counts itself");
    }

    #[test]
    fn a_request_without_headers_weighs_unless_it_may_have_come_when_the_window_had_begun() {
        // The last window ends after ten seconds. In the next, two were used, of which one is the request's own.
        let came = |seconds: i64| {
            let first = TraceBuilder::new().window(10).lists(6, &[(200, 5), (200, 4)]);
            let then = first.wait(seconds).elsewhere().wait(60 - seconds);
            is_sliding_counter(then.window(10).list(200, 4, 6))
        };
        assert!(came(7), "the other is left over");
        assert!(!came(8), "within the slack of clocks it may be the other");
    }

    #[test]
    fn a_request_that_came_before_the_last_window_weighs_nothing() {
        // The last window begins after three seconds. In the next, three were used, of which one is the request's own: so early one
        // request weighs one, and two weigh two.
        let came = |seconds: i64| {
            let two = TraceBuilder::new().wait(seconds).elsewhere().wait(30 - seconds).window(33).list(200, 5, 6);
            is_sliding_counter(two.wait(34).window(59).list(200, 3, 6))
        };
        assert!(came(1), "within the slack of clocks it came in the last window");
        assert!(!came(0), "one cannot weigh two");
    }

    #[test]
    fn what_certainly_weighs_shows_although_the_windows_overlap() {
        // The fifth was still under way when the sixth was answered, so that the first answer of the window says nothing
        // of what was left over.
        let left = |seconds: i64| {
            let next = five().wait(50 - seconds).list(200, 4, 6);
            is_sliding_counter(next.together(5..=6))
        };
        assert!(left(14), "with twelve seconds left of sixty at the least, five weigh one");
        assert!(!left(13), "less than one is nothing for certain");
    }

    #[test]
    fn remaining_rises_by_no_more_than_what_has_decayed() {
        // Of four that weigh less than five, with thirty seconds left at the least, one decays in six seconds: of a server that
        // calculates in whole seconds, in one second less. The answers take twenty milliseconds.
        let then = |before: (u16, u64), millis: i64, after: (u16, u64)| {
            let first = sliding().wait(58).window(32).lists(6, &[before]);
            is_sliding_counter(first.wait_millis(millis).lists(6, &[after]))
        };
        let rises = |millis, remaining| then((200, 2), millis, (200, remaining));
        assert!(rises(4_980, 2), "one has decayed, and one was counted");
        assert!(!rises(4_980, 3), "two have not");
        assert!(rises(4_981, 3) && !rises(4_981, 4), "a moment later two may have, and not three");
        let failed = |remaining| then((200, 2), 4_980, (404, remaining));
        assert!(failed(3) && !failed(4), "a failure need not be counted");
        let given_back = |remaining| then((404, 2), 4_980, (200, remaining));
        assert!(given_back(4) && !given_back(5), "nor kept");
    }

    #[test]
    fn remaining_falls_by_what_was_counted_in_between() {
        // In no time one decays at the most, in a second that ends in between.
        let third = |remaining| {
            let first = sliding().wait(58).window(32);
            is_sliding_counter(first.lists(6, &[(200, 2), (200, 2), (200, remaining)]))
        };
        assert!(third(1));
        assert!(!third(2), "two were counted");
    }

    #[test]
    fn windows_of_a_counter_that_slides_are_those_of_the_clock() {
        assert!(!is_sliding_counter(sliding().wait(60).window(40).list(200, 5, 6)), "of another minute");
        assert!(!is_sliding_counter(sliding().list(200, 900, 1_000)), "of another limit");
        let later = |ahead| is_sliding_counter(sliding().wait(60).window(ahead).list(200, 5, 6));
        assert!(later(30));
        assert!(later(28) && later(32), "within the slack of clocks");
        assert!(!later(27) && !later(33));
    }

    #[test]
    fn a_window_of_a_counter_that_slides_ends_within_a_minute() {
        // Of a plan that is unknown, a window that ends later is that of a day.
        let plan = Some(PlanLimits { per_minute: 6, per_day: 1_000 });
        let later = |wait, ahead| is_sliding_counter(sliding().plan(plan).wait(wait).window(ahead).list(200, 5, 6));
        assert!(later(88, 62), "within the slack of clocks");
        assert!(!later(87, 63), "it has not begun");
        assert!(later(92, -2), "within the slack of clocks");
        assert!(!later(93, -3), "it is over");
    }

    #[test]
    fn no_rule_fails_because_a_counter_slides() {
        let limits = |builder: TraceBuilder| {
            let mut broken = broken(&builder.trace());
            broken.retain(|id| id.starts_with("headers.") || id.starts_with("quota."));
            broken.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(limits(sliding()), [""; 0]);
    }
}
