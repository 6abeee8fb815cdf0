//! Reads: when each replica shows what was created at another one.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::replica_of;
use crate::history::{Creation, Entry, History};
use crate::request::{Operation, Parameter, PetId, is_plain_name};

/// What a replica shows of the animals that were created at other ones.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// How many of these animals it has shown.
    pub shown: usize,
    /// How many of them it was asked for and has never shown.
    pub never_shown: usize,
    /// How many of its answers show one of them.
    pub answers: usize,
    /// The longest time after a creation at which a read did not show the animal, if one ever did not.
    pub missing_for: Option<SignedDuration>,
    /// How long after a creation a read showed the animal first: the longest time of those that were missing before, else the shortest.
    pub shown_after: Option<SignedDuration>,
}

/// What one replica answered about one animal.
#[derive(Default)]
struct Seen {
    first: Option<SignedDuration>,
    missing: Option<SignedDuration>,
}

/// The reads of each replica.
pub(super) fn reads(history: &History<'_>, addresses: usize) -> Vec<Reads> {
    let mut seen: Vec<BTreeMap<i64, Seen>> = (0..addresses).map(|_| BTreeMap::new()).collect();
    let mut reads = vec![Reads::default(); addresses];
    for entry in history.entries.iter().filter(|entry| entry.key().is_some()) {
        let at = replica_of(entry);
        let (Some(seen), Some(reads)) = (seen.get_mut(at), reads.get_mut(at)) else { continue };
        let mut shows_one = false;
        for creation in &history.creations {
            let created = &history.entries[creation.entry];
            if replica_of(created) == at || !created.precedes(entry) {
                continue;
            }
            let Some(is_shown) = shows(entry, creation) else { continue };
            let seen = seen.entry(creation.id).or_default();
            if is_shown {
                shows_one = true;
                seen.first.get_or_insert(entry.exchange.received_at.duration_since(created.exchange.received_at));
            } else {
                let since = entry.exchange.sent_at.duration_since(created.exchange.received_at);
                seen.missing = seen.missing.max(Some(since));
            }
        }
        reads.answers += usize::from(shows_one);
    }
    for (seen, reads) in seen.iter().zip(&mut reads) {
        reads.shown = seen.values().filter(|seen| seen.first.is_some()).count();
        reads.never_shown = seen.len() - reads.shown;
        reads.missing_for = seen.values().filter_map(|seen| seen.missing).max();
        let late = seen.values().filter(|seen| seen.missing.is_some()).filter_map(|seen| seen.first).max();
        reads.shown_after = late.or_else(|| seen.values().filter_map(|seen| seen.first).min());
    }
    reads
}

/// Whether an answer shows an animal, if it would have to do so once reads do not lag any more.
fn shows(entry: &Entry<'_>, creation: &Creation) -> Option<bool> {
    let must_show = match (&entry.operation, entry.status()?) {
        (Operation::Get(PetId::Int64(id)), 200 | 404) => *id == creation.id,
        (Operation::List(query), 200) if query.is_lawful() => {
            query.status == Parameter::Absent && query.bound().is_some_and(|bound| entry.animals().len() < bound)
        }
        _ => return None,
    };
    let animals = entry.animals();
    let Some(animal) = animals.iter().find(|animal| animal.id() == Some(creation.id)) else {
        return must_show.then_some(false);
    };
    // Replicas that do not know each other may assign one id twice; but an unusual name may be altered.
    let name = creation.sent.name.as_deref();
    let is_one = animal.name() == name;
    (is_one || name.is_some_and(is_plain_name)).then_some(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::fleet::Fleet;
    use crate::trace_builder::TraceBuilder;

    fn fleet(builder: TraceBuilder) -> Fleet {
        let trace = builder.trace();
        Fleet::of(&Facts::new(&History::new(&trace))).expect("several addresses")
    }

    #[test]
    fn a_replica_that_lags_shows_an_animal_later() {
        let created = TraceBuilder::new().fleet(2).create(7).replica(0).get(7, Some("sold")).replica(0);
        let late = created.get(7, None).replica(1).wait(3).get(7, Some("sold")).replica(1);
        let fleet = fleet(late);
        let reads = &fleet.reads[1];
        assert_eq!((reads.shown, reads.never_shown, reads.answers), (1, 0, 1));
        assert_eq!(reads.shown_after.map(|time| time.as_secs()), Some(3));
        assert_eq!(reads.missing_for.map(|time| time.as_secs()), Some(0));
        assert_eq!((fleet.reads[0].shown, fleet.reads[0].answers), (0, 0), "it made the animal itself");
        assert_eq!(fleet.storing_apart(), [0; 0]);
    }

    #[test]
    fn a_replica_with_a_catalogue_of_its_own_never_shows_an_animal() {
        let asked = |seconds| TraceBuilder::new().fleet(2).create(7).replica(0).wait(seconds).get(7, None).replica(1);
        assert_eq!(fleet(asked(5)).storing_apart(), [1]);
        assert_eq!(fleet(asked(4)).storing_apart(), [0; 0], "it may lag");
        assert_eq!(fleet(asked(5)).reads[1].never_shown, 1);
    }
}
