//! Changes of status. The specification does not say what moves an animal from one status to another, so an animal whose status
//! differs from that of its creation is not necessarily a mistake.

use std::collections::{HashMap, HashSet};

use super::{Entry, History};
use crate::request::STATUSES;
use crate::tolerance::Tolerance;

/// The answers that show an animal of this run with another status than it was created with, because it has changed since: its id, and
/// the number of the exchange.
pub(super) type Changes = HashSet<(i64, usize)>;

/// An answer that shows an animal, and the status in it.
type Shown<'h> = (&'h Entry<'h>, Option<&'h str>);

impl History<'_> {
    /// Whether this answer shows that the status of an animal of this run has changed since it was created.
    #[must_use]
    pub fn has_changed(&self, id: i64, entry: &Entry<'_>) -> bool {
        self.changes.contains(&(id, entry.exchange.number))
    }

    /// Whether the status of an animal of this run was seen to change. Then none of theirs is certain between two looks.
    #[must_use]
    pub fn own_change(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(super) fn find_changes(&self) -> Changes {
        let own: HashSet<i64> = self.creations.iter().map(|creation| creation.id).collect();
        let mut shown: HashMap<i64, Vec<Shown<'_>>> = HashMap::new();
        for entry in &self.entries {
            for animal in entry.animals() {
                if let Some(id) = animal.id().filter(|id| own.contains(id)) {
                    shown.entry(id).or_default().push((entry, animal.status()));
                }
            }
        }
        let of_one = |(id, shown): (&i64, &Vec<Shown<'_>>)| {
            let original = shown.first().and_then(|(_, status)| *status);
            let is_lawful = original.is_some() && self.is_one_course(shown);
            let is_another = |status: &str| STATUSES.contains(&status) && Some(status) != original;
            let changed = shown.iter().filter(|(_, status)| is_lawful && status.is_some_and(is_another));
            changed.map(|(entry, _)| (*id, entry.exchange.number)).collect::<Vec<_>>()
        };
        shown.iter().flat_map(of_one).collect()
    }

    /// Whether one course of changes explains what these answers show of an animal, the first of which is its creation: all reads at a
    /// time agree, apart from those that lag. So a read in between, or under way at the same time, shows the animal as created, or nobody
    /// looked for some time; and no status comes and goes in less time than a change takes that somebody makes. What was not as created
    /// when it was looked at soon, or differs between lists and fetches, has not changed but is wrong.
    fn is_one_course(&self, shown: &[Shown<'_>]) -> bool {
        let phases = self.phases(shown);
        let [first, second, ..] = &phases[..] else { return true };
        let (created, original) = first[0];
        let changed = second[0].0;
        // When it was created shows only within the time that its creation took.
        let may_be_late = |(read, _): &Shown<'_>| {
            let passed = read.exchange.received_at.duration_since(created.exchange.sent_at);
            passed > Tolerance::READ_LAG.duration()
        };
        let may_precede = |(read, status): &Shown<'_>| {
            *status == original && created.precedes(read) && read.exchange.sent_at < changed.exchange.received_at
        };
        let lasts = |three: &[Vec<Shown<'_>>]| {
            let (before, after) = (three[0][three[0].len() - 1].0, three[2][0].0);
            let longest = after.exchange.received_at.duration_since(before.exchange.sent_at);
            longest >= Tolerance::SHORTEST_STATUS.duration()
        };
        (shown[1..].iter().all(may_be_late) || shown[1..].iter().any(may_precede)) && phases.windows(3).all(lasts)
    }

    /// The answers by the status that they show, in order. Those that show the status before the present one, and come so soon after its
    /// first that reads may lag, are left out.
    fn phases<'s>(&self, shown: &[Shown<'s>]) -> Vec<Vec<Shown<'s>>> {
        let mut phases: Vec<Vec<Shown<'s>>> = Vec::new();
        for reads in shown.chunk_by(|(_, one), (_, next)| one == next) {
            let status = reads[0].1;
            let is_status = |phase: Option<&Vec<Shown<'_>>>| phase.is_some_and(|phase| phase[0].1 == status);
            let lags = |(read, _): &Shown<'_>| {
                let since = phases.last().map(|present| present[0].0.exchange.received_at);
                since.is_some_and(|since| read.exchange.sent_at.duration_since(since) < self.lag)
            };
            match phases.len() {
                present if present > 1 && is_status(phases.get(present - 2)) && reads.iter().all(lags) => {}
                present if present > 0 && is_status(phases.last()) => phases[present - 1].extend(reads),
                _ => phases.push(reads.to_vec()),
            }
        }
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    /// Which of these reads of an animal that was created as sold show that it has changed since. Each is sent this many seconds later.
    fn changes(reads: &[(i64, &str)]) -> Vec<bool> {
        let read = |builder: TraceBuilder, (wait, status): &(i64, &str)| builder.wait(*wait).get(7, Some(status));
        let trace = reads.iter().fold(TraceBuilder::new().create(7), read).trace();
        let history = History::new(&trace);
        assert_eq!(history.own_change(), history.entries.iter().any(|entry| history.has_changed(7, entry)));
        history.entries[1..].iter().map(|entry| history.has_changed(7, entry)).collect()
    }

    #[test]
    fn what_was_read_as_created_may_have_another_status_from_then_on() {
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (1, "pending")]), [false, true, true]);
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (9, "available")]), [false, true, true]);
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (2, "available")]), [false, true, true]);
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (1, "available")]), [false; 3], "nobody is so quick");
    }

    #[test]
    fn a_status_may_return_if_all_reads_at_a_time_agree() {
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (9, "sold")]), [false, true, false]);
        assert_eq!(changes(&[(6, "pending"), (9, "sold")]), [true, false]);
        assert_eq!(
            changes(&[(1, "sold"), (1, "pending"), (1, "sold"), (9, "sold")]),
            [false; 4],
            "it was both at a time"
        );
        let twice = [(1, "sold"), (1, "pending"), (4, "sold"), (4, "pending"), (1, "sold")];
        assert_eq!(changes(&twice), [false, true, false, true, false], "the last read may lag");
        let one_lags = [(1, "sold"), (1, "pending"), (1, "sold"), (9, "pending")];
        assert_eq!(changes(&one_lags), [false, true, false, true]);
    }

    #[test]
    fn what_nobody_looked_at_for_some_time_may_have_changed_before_the_first_look() {
        assert_eq!(changes(&[(6, "pending"), (1, "pending")]), [true, true]);
        assert_eq!(changes(&[(4, "pending"), (9, "pending")]), [false, false], "it was looked at soon");
        let slow = TraceBuilder::new().create(7).slow(6).get(7, Some("pending")).trace();
        assert!(History::new(&slow).has_changed(7, &History::new(&slow).entries[1]), "nor during its creation");
    }

    #[test]
    fn of_two_reads_at_the_same_time_either_may_have_been_first() {
        let reads = || TraceBuilder::new().create(7).wait(1).get(7, Some("pending")).get(7, Some("sold"));
        let changed = |builder: TraceBuilder| History::new(&builder.trace()).changes.contains(&(7, 2));
        assert!(changed(reads().together(2..=3)));
        assert!(!changed(reads()));
    }

    #[test]
    fn what_never_was_as_created_has_not_changed() {
        assert_eq!(changes(&[(1, "pending"), (1, "pending")]), [false, false]);
        assert_eq!(changes(&[(1, "pending"), (9, "sold")]), [false, false]);
        assert_eq!(changes(&[(1, "sold"), (1, "Sold")]), [false, false], "that is no status");
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (2, "sold")]), [false, true, false], "the last read may lag");
    }
}
