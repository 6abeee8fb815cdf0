//! Changes of status. The specification does not say what moves an animal from one status to another, so a status other than that of
//! the creation is not necessarily a mistake.

use std::collections::HashSet;

use super::{Entry, History};
use crate::request::STATUSES;
use crate::tolerance::Tolerance;

/// The responses that show a changed status of an animal of this run: the id of the animal and the number of the exchange.
pub(super) type Changes = HashSet<(i64, usize)>;

/// A response that shows an animal, and the status that it shows.
type Shown<'h> = (&'h Entry<'h>, Option<&'h str>);

impl History<'_> {
    /// Returns true if a response shows that the status of an animal of this run has changed since its creation.
    pub fn has_changed(&self, id: i64, entry: &Entry<'_>) -> bool {
        self.changes.contains(&(id, entry.exchange.number))
    }

    /// Returns true if the status of any animal of this run was seen to change. Then the status of every animal of the run is uncertain
    /// between two reads.
    pub fn own_change(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Finds the changes of status that one course of changes explains. All others are left for the rules to report.
    pub(super) fn find_changes(&self) -> Changes {
        let mut changes = Changes::new();
        for &id in self.created.keys() {
            let shown: Vec<Shown<'_>> = self.shown(id).map(|(entry, animal)| (entry, animal.status())).collect();
            let Some((_, Some(original))) = shown.first() else { continue };
            if !self.is_one_course(&shown) {
                continue;
            }
            for (entry, status) in &shown {
                if status.is_some_and(|status| STATUSES.contains(&status) && status != *original) {
                    changes.insert((id, entry.exchange.number));
                }
            }
        }
        changes
    }

    /// Returns true if one course of changes explains the statuses that the responses show of an animal. The first response is that of
    /// its creation.
    ///
    /// 1. Before the first change, a read shows the animal as created, unless every read came later than reads may lag.
    /// 2. No status between two others ends sooner than a change by a client takes ([`Tolerance::SHORTEST_STATUS`]).
    ///
    /// Created as `sold` at 0 s and read as `pending` at 1 s breaks the first condition: the status is wrong from the beginning. `sold`,
    /// `pending` and `sold` within a second breaks the second one: lists and fetches disagree.
    fn is_one_course(&self, shown: &[Shown<'_>]) -> bool {
        let phases = self.phases(shown);
        let [first, second, ..] = &phases[..] else { return true };
        let (created, original) = first[0];
        let changed = second[0].0;
        // The animal may have been created at any time of the creating exchange.
        let is_read_late =
            shown[1..].iter().all(|(read, _)| read.longest_since(created) > Tolerance::READ_LAG.duration());
        let is_read_unchanged = shown[1..].iter().any(|(read, status)| {
            *status == original && created.precedes(read) && read.exchange.sent_at < changed.exchange.received_at
        });
        (is_read_late || is_read_unchanged)
            && phases.windows(3).all(|three| {
                let (before, after) = (three[0][three[0].len() - 1].0, three[2][0].0);
                after.longest_since(before) >= Tolerance::SHORTEST_STATUS.duration()
            })
    }

    /// Groups the responses by the status that they show, in order. Reads that show the former status, and were sent so soon after the
    /// present one was first seen that reads may lag, are left out.
    fn phases<'s>(&self, shown: &[Shown<'s>]) -> Vec<Vec<Shown<'s>>> {
        let mut phases: Vec<Vec<Shown<'s>>> = Vec::new();
        for reads in shown.chunk_by(|(_, one), (_, next)| one == next) {
            let status = reads[0].1;
            if let [.., former, present] = &phases[..]
                && former[0].1 == status
            {
                let since = present[0].0.exchange.received_at;
                if reads.iter().all(|(read, _)| read.exchange.sent_at.duration_since(since) < self.lag) {
                    continue;
                }
            }
            match phases.last_mut() {
                Some(present) if present[0].1 == status => present.extend(reads),
                _ => phases.push(reads.to_vec()),
            }
        }
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TraceBuilder;

    /// Which of these reads of an animal that was created as sold show that it has changed since. Each is sent this many seconds later.
    fn changes(reads: &[(i64, &str)]) -> Vec<bool> {
        let read = |builder: TraceBuilder, (wait, status): &(i64, &str)| builder.wait(*wait).get(7, Some(status));
        let trace = reads.iter().fold(TraceBuilder::new().create(7), read).trace();
        let history = History::new(&trace);
        assert_eq!(history.own_change(), history.entries.iter().any(|entry| history.has_changed(7, entry)));
        history.entries[1..].iter().map(|entry| history.has_changed(7, entry)).collect()
    }

    #[test]
    fn a_status_may_change_if_all_reads_at_a_time_agree_and_no_status_is_too_short() {
        for (why, reads, changed) in [
            ("seen as created", &[(1, "sold"), (1, "pending"), (1, "pending")][..], &[false, true, true][..]),
            ("twice, slowly", &[(1, "sold"), (1, "pending"), (9, "available")], &[false, true, true]),
            ("nobody is so quick", &[(1, "sold"), (1, "pending"), (1, "available")], &[false; 3]),
            ("it may return", &[(1, "sold"), (1, "pending"), (9, "sold")], &[false, true, false]),
            ("it was both at a time", &[(1, "sold"), (1, "pending"), (1, "sold"), (9, "sold")], &[false; 4]),
            ("the last read may lag", &[(1, "sold"), (1, "pending"), (2, "sold")], &[false, true, false]),
            ("one may lag", &[(1, "sold"), (1, "pending"), (1, "sold"), (9, "pending")], &[false, true, false, true]),
            ("not looked at for some time", &[(6, "pending"), (1, "pending")], &[true, true]),
            ("nor until it returned", &[(6, "pending"), (9, "sold")], &[true, false]),
            ("looked at soon", &[(4, "pending"), (9, "pending")], &[false, false]),
            ("never as created", &[(1, "pending"), (9, "sold")], &[false, false]),
            ("no status", &[(1, "sold"), (1, "Sold")], &[false, false]),
        ] {
            assert_eq!(changes(reads), changed, "{why}");
        }
    }

    #[test]
    fn an_animal_may_have_changed_while_it_was_created() {
        let slow = TraceBuilder::new().create(7).slow(6).get(7, Some("pending")).trace();
        assert!(History::new(&slow).has_changed(7, &History::new(&slow).entries[1]));
    }

    #[test]
    fn of_two_reads_at_the_same_time_either_may_have_been_first() {
        let reads = || TraceBuilder::new().create(7).wait(1).get(7, Some("pending")).get(7, Some("sold"));
        let changed = |builder: TraceBuilder| History::new(&builder.trace()).changes.contains(&(7, 2));
        assert!(changed(reads().together(2..=3)));
        assert!(!changed(reads()));
    }
}
