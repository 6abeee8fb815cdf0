//! Reads: the times at which each replica shows the animals that were created at another one.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::replica_of;
use crate::history::{Creation, Entry, History};
use crate::request::{Operation, Parameter, PetId, is_plain_name};

/// The reads of one replica that bear on animals created at other replicas.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Reads {
    /// The number of these animals that the replica has shown.
    pub shown: usize,
    /// The number of these animals that the replica was asked for and has never shown.
    pub never_shown: usize,
    /// The number of answers of the replica that show one of these animals.
    #[serde(skip)]
    pub answers: usize,
    /// The longest time after a creation at which a read did not show the animal, in milliseconds, or `None` if every read did.
    pub missing_ms: Option<u64>,
    /// The time from a creation to the first read that showed the animal, in milliseconds: the longest one of animals that were missing
    /// before, else the shortest one.
    pub shown_ms: Option<u64>,
}

/// The reads of one animal at one replica, with times since its creation.
#[derive(Default)]
struct AnimalReads {
    /// The time of the first read that showed the animal.
    first: Option<SignedDuration>,
    /// The latest time at which a read did not show the animal.
    missing: Option<SignedDuration>,
}

/// The reads of each replica.
pub(super) fn reads(history: &History<'_>, addresses: usize) -> Vec<Reads> {
    let mut animals: Vec<BTreeMap<i64, AnimalReads>> = (0..addresses).map(|_| BTreeMap::new()).collect();
    let mut reads = vec![Reads::default(); addresses];
    for entry in history.entries.iter().filter(|entry| entry.key().is_some()) {
        let at = replica_of(entry);
        let (Some(animals), Some(reads)) = (animals.get_mut(at), reads.get_mut(at)) else { continue };
        let mut shows_any = false;
        for creation in &history.creations {
            let created = &history.entries[creation.entry];
            if replica_of(created) == at || !created.precedes(entry) {
                continue;
            }
            let Some(is_shown) = shows(entry, creation) else { continue };
            let animal = animals.entry(creation.id).or_default();
            if is_shown {
                shows_any = true;
                animal.first.get_or_insert(entry.exchange.received_at.duration_since(created.exchange.received_at));
            } else {
                let since = entry.exchange.sent_at.duration_since(created.exchange.received_at);
                animal.missing = animal.missing.max(Some(since));
            }
        }
        reads.answers += usize::from(shows_any);
    }
    for (animals, reads) in animals.iter().zip(&mut reads) {
        reads.shown = animals.values().filter(|animal| animal.first.is_some()).count();
        reads.never_shown = animals.len() - reads.shown;
        reads.missing_ms = animals.values().filter_map(|animal| animal.missing).max().map(milliseconds);
        let late = animals.values().filter(|animal| animal.missing.is_some()).filter_map(|animal| animal.first).max();
        let shown = late.or_else(|| animals.values().filter_map(|animal| animal.first).min());
        reads.shown_ms = shown.map(milliseconds);
    }
    reads
}

fn milliseconds(time: SignedDuration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or_default()
}

/// The number of animals of other clients that each replica has shown in two lists or more, and that no list of another replica shows
/// although it had room for them.
pub(super) fn private(history: &History<'_>, addresses: usize) -> Vec<usize> {
    let mut shown: BTreeMap<i64, BTreeMap<usize, usize>> = BTreeMap::new();
    let mut with_room = vec![false; addresses];
    for (entry, query) in history.lists().filter(|(entry, query)| entry.status() == Some(200) && query.is_lawful()) {
        let (at, animals) = (replica_of(entry), entry.animals());
        let is_whole = query.status == Parameter::Absent && query.bound().is_some_and(|bound| animals.len() < bound);
        if let Some(room) = with_room.get_mut(at) {
            *room |= is_whole;
        }
        for id in animals.into_iter().filter_map(|animal| animal.id()).filter(|id| history.creation(*id).is_none()) {
            *shown.entry(id).or_default().entry(at).or_default() += 1;
        }
    }
    let mut private = vec![0; addresses];
    for places in shown.values() {
        let [(at, times)] = places.iter().collect::<Vec<_>>()[..] else { continue };
        let have_others_room = with_room.iter().enumerate().any(|(other, room)| other != *at && *room);
        private[*at] += usize::from(*times >= 2 && have_others_room);
    }
    private
}

/// Returns whether an answer shows an animal. `None` if the answer need not show it, even when reads no longer lag.
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
    // Replicas that do not know each other may assign one id twice. Another name shows that, unless the service may alter the name sent.
    let name = creation.sent.name.as_deref();
    let has_name = animal.name() == name;
    (has_name || name.is_some_and(is_plain_name)).then_some(has_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::fleet::Fleet;
    use crate::tests::TraceBuilder;

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
        assert_eq!(
            (reads.shown_ms.map(|time| time / 1_000), reads.missing_ms.map(|time| time / 1_000)),
            (Some(3), Some(0))
        );
        assert_eq!((fleet.reads[0].shown, fleet.reads[0].answers), (0, 0), "it made the animal itself");
        assert_eq!(fleet.storing_apart(), [0; 0]);
    }

    #[test]
    fn animals_that_only_one_replica_lists_are_its_own() {
        let list = |builder: TraceBuilder, (replica, ids): (usize, &[i64])| {
            let animals: Vec<String> = ids.iter().map(|id| crate::tests::animal(*id, "sold")).collect();
            let request = crate::trace::exchange::Request::new("GET", "/pets");
            builder.ask(request, 200, format!("[{}]", animals.join(","))).replica(replica)
        };
        let private =
            |lists: &[(usize, &[i64])]| fleet(lists.iter().copied().fold(TraceBuilder::new().fleet(2), list)).private;
        assert_eq!(private(&[(0, &[1, 2, 3]), (1, &[3]), (0, &[1, 2, 3])]), [2, 0]);
        assert_eq!(private(&[(0, &[1]), (1, &[])]), [0, 0], "it may have been removed");
        assert_eq!(private(&[(0, &[1]), (0, &[1])]), [0, 0], "no other replica was asked");
    }

    #[test]
    fn a_replica_with_a_catalogue_of_its_own_never_shows_an_animal() {
        let asked = |seconds| TraceBuilder::new().fleet(2).create(7).replica(0).wait(seconds).get(7, None).replica(1);
        assert_eq!(fleet(asked(5)).storing_apart(), [1]);
        assert_eq!(fleet(asked(4)).storing_apart(), [0; 0], "it may lag");
        assert_eq!(fleet(asked(5)).reads[1].never_shown, 1);
    }
}
