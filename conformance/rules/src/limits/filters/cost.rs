//! The cost of a request: the number by which it lowers Remaining, for each operation.

use std::collections::BTreeMap;

use super::super::keys::{Answer, KeyLimits};

/// An operation whose requests always lower Remaining by more than one.
#[derive(Clone, Copy, Debug)]
pub struct Costly<'h> {
    /// The number by which each of its requests lowers Remaining.
    pub cost: u64,
    /// The number of pairs of answers that show this cost.
    pub times: usize,
    /// The last pair of answers that shows this cost. The second one answers the operation.
    pub seen: [Answer<'h>; 2],
}

impl<'h> KeyLimits<'h> {
    /// The pairs of successive successes of one window, where the second request is the only one that can have been counted in between.
    fn pairs_of_single_requests(&self) -> impl Iterator<Item = [Answer<'h>; 2]> {
        self.answers().windows(2).map(|pair| [pair[0], pair[1]]).filter(move |[before, after]| {
            before.precedes(after)
                && self.history.sent_between(before.entry, after.entry) == 1
                && before.entry.succeeded()
                && after.entry.succeeded()
                && before.window.is_same(after.window)
        })
    }

    /// The operations whose requests all lower Remaining by the same number above one, while those of another operation lower it by
    /// one. Other traffic on the key would not be limited to certain operations.
    pub fn costly_operations(&self) -> Vec<Costly<'h>> {
        let mut seen: BTreeMap<&str, Vec<[Answer<'h>; 2]>> = BTreeMap::new();
        for [before, after] in self.pairs_of_single_requests() {
            seen.entry(after.entry.operation.name()).or_default().push([before, after]);
        }
        let constant: Vec<Costly<'h>> = seen.values().filter_map(|pairs| constant_cost(pairs)).collect();
        let some_cost_one = constant.iter().any(|costly| costly.cost == 1);
        constant.into_iter().filter(|costly| some_cost_one && costly.cost > 1).collect()
    }

    /// The cost of a successful request. It is above 1 only if Remaining falls by that number each time, at least ten times.
    pub(super) fn cost(&self) -> u64 {
        const MANY: usize = 10;
        let pairs: Vec<[Answer<'h>; 2]> = self.pairs_of_single_requests().collect();
        let constant = constant_cost(&pairs).filter(|costly| costly.times >= MANY && self.costs(costly.cost));
        constant.map_or(1, |costly| costly.cost.max(1))
    }

    /// Returns true if Remaining falls by at least this cost from each success to the next success that was sent after it, whatever other
    /// requests were sent at the same time.
    fn costs(&self, cost: u64) -> bool {
        self.answers().iter().enumerate().all(|(at, before)| {
            let next = self.answers()[at..].iter().find(|after| before.precedes(after) && after.entry.succeeded());
            // The cost of a failure may be given back, and a refusal may report that nothing remains, whatever the count is.
            next.filter(|after| before.entry.succeeded() && before.window.is_same(after.window))
                .is_none_or(|after| before.window.remaining.saturating_sub(after.window.remaining) >= cost)
        })
    }
}

/// The cost of requests, if Remaining falls by the same number in each of these pairs of answers, and there are at least five.
fn constant_cost<'h>(pairs: &[[Answer<'h>; 2]]) -> Option<Costly<'h>> {
    const MANY: usize = 5;
    let last = pairs.last().filter(|_| pairs.len() >= MANY)?;
    let cost = last[0].window.remaining.checked_sub(last[1].window.remaining)?;
    let is_constant =
        pairs.iter().all(|[before, after]| before.window.remaining.checked_sub(after.window.remaining) == Some(cost));
    is_constant.then_some(Costly { cost, times: pairs.len(), seen: *last })
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;

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
        assert_eq!(costs(&alternating(6, 1, 1)), [0; 0]);
        assert_eq!(costs(&alternating(6, 2, 2)), [0; 0], "another client may send as many");
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
        assert_eq!(cost(costly(11, 2).list(200, 77, 100)), 1, "once it was three");
        assert_eq!(cost(costly(11, 0)), 1, "nothing at all is no cost");
        let refused = costly(11, 2).list(429, 80, 100).list(200, 79, 100);
        assert_eq!(cost(costly(11, 2).list(429, 80, 100).list(200, 78, 100)), 2, "a refusal costs nothing");
        assert_eq!(cost(refused.list(200, 78, 100).together(12..=13)), 1, "of two at once neither can have cost two");
        assert_eq!(cost(costly(11, 2).list(404, 80, 100).list(200, 78, 100)), 2, "a failure may cost nothing");
    }
}
