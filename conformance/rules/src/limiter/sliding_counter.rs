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
    fn windows_of_a_counter_that_slides_are_those_of_the_clock() {
        assert!(!is_sliding_counter(sliding().wait(60).window(40).list(200, 5, 6)), "of another minute");
        assert!(!is_sliding_counter(sliding().list(200, 900, 1_000)), "of another limit");
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
