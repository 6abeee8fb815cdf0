//! The cost of a request: by how much it lowers Remaining, for each operation.

use std::collections::BTreeMap;

use super::super::keys::{Answer, KeyLimits};

/// An operation whose requests always lower Remaining by more than one.
#[derive(Clone, Copy, Debug)]
pub struct Costly<'h> {
    /// By how much each of its requests lowers Remaining.
    pub cost: u64,
    /// How often that was seen.
    pub times: usize,
    /// The last time: the answer before, and its own.
    pub seen: [Answer<'h>; 2],
}

impl<'h> KeyLimits<'h> {
    /// The operations whose requests all lower Remaining by the same number above one, while those of another operation lower it by
    /// one. Other traffic on the key would not be limited to certain operations.
    #[must_use]
    pub fn costly_operations(&self) -> Vec<Costly<'h>> {
        const MANY: usize = 5;
        let mut seen: BTreeMap<&str, Vec<[Answer<'h>; 2]>> = BTreeMap::new();
        for [before, after] in self.pairs() {
            let is_alone = before.precedes(&after) && self.history.sent_between(before.entry, after.entry) == 1;
            let both_succeeded = before.entry.succeeded() && after.entry.succeeded();
            if is_alone && both_succeeded && before.window.is_same(after.window) {
                seen.entry(after.entry.operation.name()).or_default().push([before, after]);
            }
        }
        let constant = |pairs: &Vec<[Answer<'h>; 2]>| {
            let fall = |[before, after]: &[Answer<'_>; 2]| before.window.remaining.checked_sub(after.window.remaining);
            let last = pairs.last().filter(|_| pairs.len() >= MANY)?;
            let cost = fall(last)?;
            pairs.iter().all(|pair| fall(pair) == Some(cost)).then_some(Costly {
                cost,
                times: pairs.len(),
                seen: *last,
            })
        };
        let constant: Vec<Costly<'h>> = seen.values().filter_map(constant).collect();
        let is_one_due = constant.iter().any(|costly| costly.cost == 1);
        constant.into_iter().filter(|costly| is_one_due && costly.cost > 1).collect()
    }

    /// The cost of a successful request: more than one only where Remaining falls by that number each time, many times.
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

    /// Lists and creations in turn that leave so much each.
    fn costs(answers: &[(bool, u64)]) -> Vec<u64> {
        let builder = answers.iter().fold(TraceBuilder::new(), |builder, (create, remaining)| {
            if *create { builder.create(1).with_rate_limit(*remaining, 60) } else { builder.list(200, *remaining, 60) }
        });
        builder.main_key(|key| key.costly_operations().iter().map(|costly| costly.cost).collect())
    }

    fn alternating(turns: u64, create: u64, list: u64) -> Vec<(bool, u64)> {
        let each = create + list;
        (0..turns).flat_map(|turn| [(true, 59 - turn * each), (false, 59 - turn * each - list)]).collect()
    }

    #[test]
    fn an_operation_costs_more_where_each_of_its_requests_does_and_those_of_another_do_not() {
        assert_eq!(costs(&alternating(6, 2, 1)), [2]);
        assert_eq!(costs(&alternating(5, 2, 1)), [0; 0], "four times are few");
        assert_eq!(costs(&alternating(6, 1, 1)), [0; 0]);
        assert_eq!(costs(&alternating(6, 2, 2)), [0; 0], "somebody else may send as many");
        let mut once = alternating(7, 2, 1);
        once[13].1 -= 1;
        assert_eq!(costs(&once), [0; 0], "once a list cost two: somebody else is about");
    }

    /// This many successes, each of which lowers Remaining by `cost`.
    fn costly(times: u64, cost: u64) -> TraceBuilder {
        (0..times).fold(TraceBuilder::new(), |builder, at| builder.list(200, 100 - at * cost, 100))
    }

    #[test]
    fn a_request_costs_more_than_one_where_each_does_many_times() {
        let cost = |builder: TraceBuilder| builder.main_key(|key| key.cost());
        assert_eq!(cost(costly(11, 2)), 2);
        assert_eq!(cost(costly(10, 2)), 1, "nine times are not many");
        assert_eq!(cost(costly(11, 2).list(200, 77, 100)), 1, "once it was three");
        assert_eq!(cost(costly(11, 0)), 1, "nothing at all is no cost");
        let refused = costly(11, 2).list(429, 80, 100).list(200, 79, 100);
        assert_eq!(cost(costly(11, 2).list(429, 80, 100).list(200, 78, 100)), 2, "a refusal costs nothing");
        assert_eq!(cost(refused.list(200, 78, 100).together(12..=13)), 1, "of two at once neither can have cost two");
        assert_eq!(cost(costly(11, 2).list(404, 80, 100).list(200, 78, 100)), 2, "a failure may cost nothing");
    }
}
