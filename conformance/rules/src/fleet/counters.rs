//! Counters: with which other replicas a replica counts the requests of a key.
//!
//! Requests to the replicas that count together are explained by one way of counting, without other clients. Which replicas these are
//! shows when there is only one such set.

use super::replica_of;
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::limits::{Answer, KeyLimits};

/// With which others a replica counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Counter {
    /// The exchanges do not show it.
    Unknown,
    /// With these replicas, in order. With none, it counts for itself.
    With(Vec<usize>),
}

/// This many times other replicas have to be asked between two answers of one.
const SEVERAL: usize = 2;

/// Of more replicas than this, only those that count with all or with none are distinguished.
const MANY: usize = 6;

/// The counter of each replica.
pub(super) fn counters(facts: &Facts<'_>, addresses: usize) -> Vec<Counter> {
    let mut counters = vec![Counter::Unknown; addresses];
    let is_unknown = |counters: &[Counter], at: usize| counters[at] == Counter::Unknown;
    for key in facts.limiter.keys() {
        let sets = explained_sets(key, addresses);
        for at in (0..addresses).filter(|at| is_asked_in_turn(facts.history, key, *at)) {
            let mut with_it = sets.iter().filter(|set| set.contains(&at));
            if let (Some(only), None, true) = (with_it.next(), with_it.next(), is_unknown(&counters, at)) {
                counters[at] = Counter::With(only.iter().copied().filter(|other| *other != at).collect());
            }
        }
    }
    counters
}

/// The sets of replicas whose requests with a key one way of counting explains.
fn explained_sets(key: &KeyLimits<'_>, addresses: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..addresses).collect();
    let sets: Vec<Vec<usize>> = if addresses > MANY {
        all.iter().map(|one| vec![*one]).chain([all.clone()]).collect()
    } else {
        let members = |set: usize| all.iter().copied().filter(move |at| set >> at & 1 == 1).collect();
        (1..1_usize << addresses).map(members).collect()
    };
    let is_explained = |set: &Vec<usize>| {
        let explanation = key.explanation_of(|entry| set.contains(&replica_of(entry)));
        explanation.findings.is_empty() && !explanation.others() && explanation.never_falls().is_none()
    };
    sets.into_iter().filter(is_explained).collect()
}

/// Whether others were asked several times between two answers of a replica in one window.
fn is_asked_in_turn(history: &History<'_>, key: &KeyLimits<'_>, replica: usize) -> bool {
    let is_success = |entry: &&Entry<'_>| entry.key() == Some(key.index()) && entry.succeeded();
    let others: Vec<usize> = history
        .entries
        .iter()
        .filter(is_success)
        .filter(|entry| replica_of(entry) != replica)
        .map(|entry| entry.exchange.number)
        .collect();
    let of_one = |answer: &&Answer<'_>| answer.entry.succeeded() && replica_of(answer.entry) == replica;
    let answers: Vec<&Answer<'_>> = key.answers().iter().filter(of_one).collect();
    let is_telling = |pair: &&[&Answer<'_>]| {
        let asked = |answer: &Answer<'_>| others.partition_point(|other| *other < answer.entry.exchange.number);
        pair[0].window.is_same(pair[1].window) && asked(pair[0]) < asked(pair[1])
    };
    answers.windows(2).filter(is_telling).count() >= SEVERAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::trace_builder::TraceBuilder;

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
        assert_eq!(counters_of(2, &own[..4]), [Counter::Unknown, Counter::Unknown], "one fall each is chance");
    }

    #[test]
    fn one_of_three_may_count_for_itself() {
        let order = [0, 1, 2, 1, 0, 2, 0, 1, 2, 2, 1, 0, 2, 0, 1, 0];
        let (mut shared, mut own) = (60, 60);
        let answers: Vec<(usize, u64)> = order
            .into_iter()
            .map(|at| {
                let left = if at == 2 { &mut own } else { &mut shared };
                *left -= 1;
                (at, *left)
            })
            .collect();
        assert_eq!(counters_of(3, &answers), [with(&[1]), with(&[0]), with(&[])]);
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
