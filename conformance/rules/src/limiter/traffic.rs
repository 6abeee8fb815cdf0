//! Other traffic on a key, and what a request costs: whether Remaining fell by more than the run's own requests explain.

use super::key::{Answer, KeyLimits};

impl<'h> KeyLimits<'h> {
    /// Whether Remaining ever fell by more than this run's own requests explain, at whatever each of them costs.
    #[must_use]
    pub fn has_other_traffic(&self) -> bool {
        /// It is unlikely that others used exactly this much of the next window too, and nothing else of it.
        const SOME: u64 = 2;
        *self.other_traffic.get_or_init(|| {
            self.in_turn().any(|[before, after]| {
                let (earlier, later) = (before.window, after.window);
                // A refusal may say that nothing remains whatever there was.
                if earlier.limit != later.limit || after.entry.is_limited() {
                    return false;
                }
                let fell = if earlier.is_same(later) {
                    earlier.remaining.saturating_sub(later.remaining)
                } else if later.reset > earlier.reset {
                    // A count that goes on from where it was has not been set back, which is no use by others.
                    let on = earlier.remaining.saturating_sub(later.remaining);
                    let sent = self.history.sent_between(before.entry, after.entry);
                    if earlier.limit - earlier.remaining.min(earlier.limit) >= SOME && (1..=sent).contains(&on) {
                        return false;
                    }
                    // In a window that is new since the answer before, nothing was used before this run's own requests.
                    later.limit.saturating_sub(later.remaining)
                } else {
                    return false;
                };
                fell > self.cost() * self.history.sent_between(before.entry, after.entry)
            })
        })
    }

    /// Each answer with the first one to a request that was sent after it; of those that overlap, others come in between.
    fn in_turn(&self) -> impl Iterator<Item = [Answer<'h>; 2]> {
        self.answers().iter().enumerate().filter_map(|(at, before)| {
            let after = self.answers()[at..].iter().find(|after| before.precedes(after))?;
            Some([*before, *after])
        })
    }

    /// What a successful request costs: more than one only where that is so each time, many times.
    #[must_use]
    pub fn cost(&self) -> u64 {
        const MANY: usize = 10;
        *self.cost.get_or_init(|| {
            let alone = self.pairs().filter(|[before, after]| {
                let single = before.precedes(after) && self.history.sent_between(before.entry, after.entry) == 1;
                let succeeded = before.entry.succeeded() && after.entry.succeeded();
                single && succeeded && before.window.is_same(after.window)
            });
            let falls: Vec<u64> =
                alone.map(|[before, after]| before.window.remaining.saturating_sub(after.window.remaining)).collect();
            match falls.first() {
                Some(&fall) if falls.len() >= MANY && falls.iter().all(|other| *other == fall) && self.costs(fall) => {
                    fall.max(1)
                }
                _ => 1,
            }
        })
    }

    /// Whether Remaining falls by so much at the least from each answer to the next success that was sent after it, whatever else was
    /// sent at the same time.
    fn costs(&self, cost: u64) -> bool {
        self.answers().iter().enumerate().all(|(at, before)| {
            let next = self.answers()[at..].iter().find(|after| before.precedes(after) && after.entry.succeeded());
            // What a failure cost may have been given back, and a refusal may say that nothing remains whatever there was.
            next.filter(|after| before.entry.succeeded() && before.window.is_same(after.window))
                .is_none_or(|after| before.window.remaining.saturating_sub(after.window.remaining) >= cost)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    fn shared(builder: TraceBuilder) -> bool {
        builder.main_key(|key| key.has_other_traffic())
    }

    #[test]
    fn what_others_consume_shows_in_remaining() {
        assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 9)])));
        assert!(shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 8)])));
        assert!(
            !shared(TraceBuilder::new().list(200, 10, 60).elsewhere().list(200, 8, 60)),
            "this run's own requests may count"
        );
        assert!(shared(TraceBuilder::new().list(200, 10, 60).elsewhere().list(200, 7, 60)));
        assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (429, 0)])), "a refusal says nothing of others");
        assert!(
            !shared(TraceBuilder::new().list(200, 10, 60).list(200, 8, 1_000)),
            "two figures have nothing to do with each other"
        );
    }

    #[test]
    fn in_a_new_window_nothing_was_consumed_before_this_runs_own_requests() {
        let next = |remaining| TraceBuilder::new().list(200, 10, 60).wait(60).window(60).list(200, remaining, 60);
        assert!(!shared(next(59)));
        assert!(shared(next(57)));
        let back = TraceBuilder::new().list(200, 10, 60).window(20).list(200, 2, 60);
        assert!(!shared(back), "a window that ends before the one before says nothing");
    }

    #[test]
    fn a_count_that_goes_on_over_a_reset_is_no_use_by_others() {
        let on = |used: u64, next: u64| {
            TraceBuilder::new().list(200, 60 - used, 60).wait(60).window(60).list(200, 60 - next, 60)
        };
        assert!(!shared(on(3, 4)) && !shared(on(20, 21)));
        assert!(shared(on(3, 5)), "more than this run's own request");
        assert!(shared(on(1, 2)), "others may have used as little");
    }

    #[test]
    fn requests_under_way_at_the_same_time_may_have_been_counted_in_any_order() {
        let answers = [(200, 9), (200, 7), (200, 8), (200, 5), (200, 6)];
        assert!(shared(TraceBuilder::new().lists(60, &answers)));
        assert!(!shared(TraceBuilder::new().lists(60, &answers).together(2..=3).together(4..=5)));
        assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 2)]).together(1..=2)));
        // The last of those together was counted first, as was the first of the next.
        assert!(!shared(
            TraceBuilder::new().lists(60, &[(200, 9), (200, 6), (200, 8), (200, 7), (200, 5)]).together(2..=4)
        ));
        assert!(shared(
            TraceBuilder::new().lists(60, &[(200, 9), (200, 5), (200, 8), (200, 7), (200, 4)]).together(2..=4)
        ));
    }

    #[test]
    fn of_requests_that_overlap_each_is_compared_with_the_first_that_was_sent_after_its_answer() {
        let overlapping = |last| {
            let answers = [(200, 9), (200, 8), (200, last)];
            shared(TraceBuilder::new().lists(60, &answers).together(1..=2).together(2..=3))
        };
        assert!(!overlapping(7));
        assert!(!overlapping(9), "in whatever order");
        assert!(overlapping(6), "the second request and the third used two");
    }

    /// This many successes, each of which lowers Remaining by `cost`.
    fn costly(times: u64, cost: u64) -> TraceBuilder {
        (0..times).fold(TraceBuilder::new(), |builder, at| builder.list(200, 100 - at * cost, 100))
    }

    #[test]
    fn a_request_may_lower_remaining_by_more_than_one_where_each_does_many_times() {
        assert!(!shared(costly(11, 2)));
        assert!(shared(costly(10, 2)), "nine times are not many");
        assert!(shared(costly(11, 2).list(200, 77, 100)), "once it was three");
        assert!(!shared(costly(11, 0).list(200, 99, 100)), "nothing at all is no cost");
        assert!(!shared(costly(11, 2).elsewhere().list(200, 76, 100)), "two requests cost twice as much");
        let refused = costly(11, 2).list(429, 80, 100).list(200, 79, 100);
        assert!(!shared(costly(11, 2).list(429, 80, 100).list(200, 78, 100)), "a refusal costs nothing");
        assert!(shared(refused.list(200, 78, 100).together(12..=13)), "of two at once neither can have cost two");
        assert!(!shared(costly(11, 2).list(404, 80, 100).list(200, 78, 100)), "a failure may cost nothing");
        assert!(!shared(costly(11, 2).list(404, 78, 100).list(200, 78, 100)), "its cost may be given back");
        assert!(!shared(costly(11, 2).wait(60).window(60).list(200, 98, 100)), "in a new window as in the last");
    }
}
