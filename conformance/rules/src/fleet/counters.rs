//! Counters: with which other replicas a replica counts the requests of a key.
//!
//! Between two answers of one replica, Remaining falls by the second request and by those that were sent meanwhile to the replicas that
//! count with it. Which ones these are shows when only one set of replicas explains every fall.

use super::replica_of;
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::limiter::{Answer, KeyLimits};
use crate::tolerance::Tolerance;

/// With which others a replica counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Counter {
    /// The exchanges do not show it.
    Unknown,
    /// With these replicas, in order. With none, it counts for itself.
    With(Vec<usize>),
}

/// This many falls between which other replicas were asked have to agree.
const SEVERAL: usize = 2;

/// Of more replicas than this, only those that count with all or with none are distinguished.
const MANY: usize = 9;

/// A fall of Remaining between two answers of one replica, and what each replica got in between.
struct Fall {
    by: Option<u64>,
    /// Requests that are counted.
    counted: Vec<u64>,
    /// Requests that may be counted: those that failed, whose credential is ambiguous, or that were under way at the same time as
    /// one of the two.
    uncertain: Vec<u64>,
}

/// The counter of each replica.
pub(super) fn counters(facts: &Facts<'_>, addresses: usize) -> Vec<Counter> {
    let of_key = |key: &KeyLimits<'_>, replica: usize| {
        let falls = falls(facts.history, key, replica, addresses);
        counted_with(replica, addresses, &falls).map(Counter::With)
    };
    let of_replica = |replica| facts.limiter.keys().iter().find_map(|key| of_key(key, replica));
    (0..addresses).map(|replica| of_replica(replica).unwrap_or(Counter::Unknown)).collect()
}

/// The only set of other replicas that explains every fall, if there is one.
fn counted_with(replica: usize, addresses: usize, falls: &[Fall]) -> Option<Vec<usize>> {
    let telling = falls.iter().filter(|fall| fall.counted.iter().sum::<u64>() > 0).count();
    if telling < SEVERAL {
        return None;
    }
    let others: Vec<usize> = (0..addresses).filter(|other| *other != replica).collect();
    let sets: Vec<Vec<usize>> = if addresses > MANY {
        vec![Vec::new(), others]
    } else {
        let chosen = |set: usize| others.iter().enumerate().filter(move |(at, _)| set >> at & 1 == 1);
        (0..1_usize << others.len()).map(|set| chosen(set).map(|(_, other)| *other).collect()).collect()
    };
    let explains = |set: &&Vec<usize>| {
        falls.iter().all(|fall| {
            let least = 1 + set.iter().map(|other| fall.counted[*other]).sum::<u64>();
            let more = fall.uncertain[replica] + set.iter().map(|other| fall.uncertain[*other]).sum::<u64>();
            fall.by.is_some_and(|by| (least..=least + more).contains(&by))
        })
    };
    let mut explaining = sets.iter().filter(explains);
    let only = explaining.next()?;
    explaining.next().is_none().then(|| only.clone())
}

/// The falls of a key's Remaining between successes of a replica, where all that may have been counted in between is known.
fn falls(history: &History<'_>, key: &KeyLimits<'_>, replica: usize, addresses: usize) -> Vec<Fall> {
    let is_one = |answer: &&Answer<'_>| replica_of(answer.entry) == replica && answer.entry.succeeded();
    let answers: Vec<&Answer<'_>> = key.answers().iter().filter(is_one).collect();
    answers.windows(2).filter_map(|pair| fall(history, key, [pair[0], pair[1]], addresses)).collect()
}

fn fall(
    history: &History<'_>,
    key: &KeyLimits<'_>,
    [before, after]: [&Answer<'_>; 2],
    addresses: usize,
) -> Option<Fall> {
    let end = before.window.reset - Tolerance::CLOCK_SLACK.seconds();
    let is_over = after.entry.server_time().is_some_and(|time| time.as_second() >= end);
    let between = history.entries.get(before.entry.exchange.number..after.entry.exchange.number - 1)?;
    if !before.precedes(after) || !before.window.is_same(after.window) || is_over {
        return None;
    }
    let aside = history.meanwhile(before.entry).chain(history.meanwhile(after.entry));
    let mut sent: Vec<&Entry<'_>> = between.iter().chain(aside).collect();
    sent.sort_unstable_by_key(|entry| entry.exchange.number);
    sent.dedup_by_key(|entry| entry.exchange.number);
    let (mut counted, mut uncertain) = (vec![0; addresses], vec![0; addresses]);
    for entry in sent.into_iter().filter(|entry| key.may_count(entry, before.window)) {
        let is_between = before.entry.precedes(entry) && entry.precedes(after.entry);
        let is_counted = is_between && entry.key() == Some(key.index()) && entry.succeeded();
        *(if is_counted { &mut counted } else { &mut uncertain }).get_mut(replica_of(entry))? += 1;
    }
    Some(Fall { by: before.window.remaining.checked_sub(after.window.remaining), counted, uncertain })
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
