//! Changes of status. The specification does not say what moves an animal from one status to another, so an animal whose status
//! differs from that of its creation is not necessarily a mistake.

use std::collections::{HashMap, HashSet};

use super::{Entry, History};
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
            let changed = shown.iter().filter(|shown_now| self.is_change(shown, shown_now));
            changed.map(|(entry, _)| (*id, entry.exchange.number)).collect::<Vec<_>>()
        };
        shown.iter().flat_map(of_one).collect()
    }

    /// Whether an animal has changed between its creation, which is the first of these answers, and one of the others: a read in between,
    /// or under way at the same time, showed it as created, or nobody looked for some time; and none that was sent later showed it so
    /// again, apart from reads that lag. What was not as created when it was looked at soon, or differs between lists and fetches, has
    /// not changed but is wrong.
    fn is_change(&self, shown: &[Shown<'_>], (entry, status): &Shown<'_>) -> bool {
        let Some((created, original)) = shown.first() else { return false };
        if original.is_none() || status.is_none() || status == original {
            return false;
        }
        let lags = |read: &Entry<'_>| read.exchange.sent_at.duration_since(entry.exchange.received_at) < self.lag;
        let may_precede = |read: &Entry<'_>| {
            read.exchange.number != entry.exchange.number && read.exchange.sent_at < entry.exchange.received_at
        };
        // When it was created shows only within the time that its creation took.
        let may_be_late = |read: &Entry<'_>| {
            let passed = read.exchange.received_at.duration_since(created.exchange.sent_at);
            passed > Tolerance::READ_LAG.duration()
        };
        let is_unseen = || shown[1..].iter().all(|(read, _)| may_be_late(read));
        let mut as_created = shown[1..].iter().filter(|(_, status)| status == original).map(|(read, _)| *read);
        (is_unseen() || as_created.clone().any(|read| created.precedes(read) && may_precede(read)))
            && !as_created.any(|read| entry.precedes(read) && !lags(read))
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
    }

    #[test]
    fn what_nobody_looked_at_for_some_time_may_have_changed_before_the_first_look() {
        assert_eq!(changes(&[(6, "pending"), (1, "pending")]), [true, true]);
        assert_eq!(changes(&[(4, "pending"), (9, "pending")]), [false, false], "it was looked at soon");
        assert_eq!(changes(&[(6, "pending"), (9, "sold")]), [false, false], "it is as created again");
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
    fn what_never_was_as_created_or_is_so_again_has_not_changed() {
        assert_eq!(changes(&[(1, "pending"), (1, "pending")]), [false, false]);
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (9, "sold")]), [false, false, false]);
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (2, "sold")]), [false, true, false], "the last read may lag");
        assert_eq!(changes(&[(1, "sold"), (1, "pending"), (5, "sold")]), [false, false, false], "too late to lag");
    }
}
