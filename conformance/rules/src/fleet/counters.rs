//! Counters: the replicas that count the requests of a key together.
//!
//! One way of counting explains the requests to such a set of replicas, without other clients. A replica belongs to a set if no other set
//! with the replica is explained.

use super::replica_of;
use crate::facts::Facts;
use crate::history::History;
use crate::limits::{Answer, KeyLimits};

/// The other replicas with which a replica counts requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Counter {
    /// The exchanges do not show with which replicas this one counts.
    Unknown,
    /// The replica counts together with these ones, in order of their places. If there are none, it counts for itself.
    With(Vec<usize>),
}

/// The least number of times that other replicas must be asked between two answers of one.
const SEVERAL: usize = 2;

/// The most replicas whose every set is tried. Of more replicas, only each one alone and all together are tried.
const MANY: usize = 6;

/// The counter of each replica.
pub(super) fn counters(facts: &Facts<'_>, addresses: usize) -> Vec<Counter> {
    let mut counters = vec![Counter::Unknown; addresses];
    for key in facts.limiter.keys() {
        let sets = explained_sets(key, addresses);
        for (replica, counter) in counters.iter_mut().enumerate() {
            if *counter != Counter::Unknown || !is_asked_in_turn(facts.history, key, replica) {
                continue;
            }
            let mut with_replica = sets.iter().filter(|set| set.contains(&replica));
            if let (Some(only), None) = (with_replica.next(), with_replica.next()) {
                *counter = Counter::With(only.iter().copied().filter(|other| *other != replica).collect());
            }
        }
    }
    counters
}

/// The sets of replicas whose requests with a key one way of counting explains.
fn explained_sets(key: &KeyLimits<'_>, addresses: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..addresses).collect();
    let mut sets: Vec<Vec<usize>> = if addresses > MANY {
        all.iter().map(|replica| vec![*replica]).chain([all.clone()]).collect()
    } else {
        // The bits of a number are the members of a set.
        (1..1_usize << addresses).map(|set| all.iter().copied().filter(|at| set >> at & 1 == 1).collect()).collect()
    };
    sets.retain(|set| {
        let explanation = key.explanation_of(|entry| set.contains(&replica_of(entry)));
        explanation.is_complete() && explanation.never_falls.is_none()
    });
    sets
}

/// Returns true if other replicas were asked between two answers of a replica in one window, several times.
fn is_asked_in_turn(history: &History<'_>, key: &KeyLimits<'_>, replica: usize) -> bool {
    let successes = history.entries.iter().filter(|entry| entry.key() == Some(key.index()) && entry.succeeded());
    let elsewhere: Vec<usize> =
        successes.filter(|entry| replica_of(entry) != replica).map(|entry| entry.exchange.number).collect();
    let asked_before = |answer: &Answer<'_>| elsewhere.partition_point(|other| *other < answer.entry.exchange.number);
    let answers = key.answers().iter().filter(|answer| answer.entry.succeeded());
    let mut times = 0;
    let mut last: Option<&Answer<'_>> = None;
    for answer in answers.filter(|answer| replica_of(answer.entry) == replica) {
        if let Some(before) = last.replace(answer)
            && before.window.is_same(answer.window)
            && asked_before(before) < asked_before(answer)
        {
            times += 1;
        }
    }
    times >= SEVERAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::tests::TraceBuilder;

    /// Lists at these replicas that leave so much.
    fn lists(replicas: usize, answers: &[(usize, u64)]) -> TraceBuilder {
        let builder = TraceBuilder::new().fleet(replicas);
        answers.iter().fold(builder, |builder, (at, left)| builder.list(200, *left, 60).replica(*at))
    }

    fn seen_in(builder: TraceBuilder) -> Vec<Counter> {
        let trace = builder.trace();
        Fleet::of(&Facts::new(&History::new(&trace))).expect("several addresses").counters
    }

    fn counters_of(replicas: usize, answers: &[(usize, u64)]) -> Vec<Counter> {
        seen_in(lists(replicas, answers))
    }

    fn with(others: &[usize]) -> Counter {
        Counter::With(others.to_vec())
    }

    #[test]
    fn replicas_that_count_together_show_each_others_requests() {
        let shared: Vec<(usize, u64)> = (0..8).map(|at| (at % 2, 59 - at as u64)).collect();
        assert_eq!(counters_of(2, &shared), [with(&[1]), with(&[0])]);
        let own: Vec<(usize, u64)> = (0..8).map(|at| (at % 2, 59 - at as u64 / 2)).collect();
        assert_eq!(counters_of(2, &own), [with(&[]), with(&[])]);
    }

    #[test]
    fn requests_that_were_sent_together_may_be_counted_in_any_order() {
        // The last one was counted first.
        let together =
            lists(2, &[(0, 59), (1, 58), (0, 57), (1, 56), (0, 55), (1, 53), (1, 52), (0, 54)]).together(6..=8);
        assert_eq!(seen_in(together), [with(&[1]), with(&[0])]);
        // What lies around them is seen all the same.
        let around = lists(2, &[(0, 58), (1, 59), (0, 57), (1, 56), (0, 55), (1, 54), (0, 53)]).together(1..=2);
        assert_eq!(seen_in(around), [with(&[1]), with(&[0])]);
    }

    #[test]
    fn what_nothing_explains_is_unknown() {
        let busy: Vec<(usize, u64)> = (0..8).map(|at| (at % 2, 59 - 3 * at as u64)).collect();
        assert_eq!(counters_of(2, &busy), [Counter::Unknown, Counter::Unknown]);
        assert!(Fleet::of(&Facts::new(&History::new(&TraceBuilder::new().trace()))).is_none(), "one address");
    }
}
