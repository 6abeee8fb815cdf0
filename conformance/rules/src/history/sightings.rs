//! The responses that show each animal.

use std::collections::HashMap;

use super::{Animal, Entry, History, Operation};

/// The places that show an animal with an id, in order, for every id: the index of the entry, and that of the animal in its response.
pub(super) type Sightings = HashMap<i64, Vec<(usize, usize)>>;

/// Notes every animal that the entries show, except those that a request beyond the specification has changed or removed.
pub(super) fn of(entries: &[Entry<'_>]) -> Sightings {
    let mut sightings = Sightings::new();
    for (index, entry) in entries.iter().enumerate() {
        for (place, animal) in entry.animals().into_iter().enumerate() {
            if let Some(id) = animal.id() {
                sightings.entry(id).or_default().push((index, place));
            }
        }
    }
    for entry in entries.iter().filter(|entry| entry.succeeded()) {
        let request = &entry.exchange.request;
        if ["DELETE", "PATCH", "PUT"].contains(&request.method.as_str())
            && let Some(id) = request.path.strip_prefix("/pets/").and_then(|id| id.parse().ok())
        {
            sightings.remove(&id);
        }
    }
    sightings
}

impl<'t> History<'t> {
    /// The ids of all animals in responses, in no order.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.sightings.keys().copied()
    }

    /// The responses that show the animal with this id, in order, and the animal in each.
    pub fn shown(&self, id: i64) -> impl DoubleEndedIterator<Item = (&Entry<'t>, Animal<'_>)> {
        let sightings = self.sightings.get(&id).into_iter().flatten();
        sightings.filter_map(|(entry, place)| {
            let entry = &self.entries[*entry];
            Some((entry, Animal(entry.shown().get(*place)?)))
        })
    }

    /// The first response before `entry` that shows the animal with this id, and the animal in it. If the run created the animal, it is
    /// the response to the creation.
    pub fn known(&self, id: i64, entry: &Entry<'_>) -> Option<(&Entry<'t>, Animal<'_>)> {
        self.shown(id).next().filter(|(first, _)| first.precedes(entry))
    }

    /// Returns true if a response other than that of `entry`, earlier or later, shows the animal with this id.
    pub fn is_shown_elsewhere(&self, id: i64, entry: &Entry<'_>) -> bool {
        self.shown(id).any(|(other, _)| !std::ptr::eq(other, entry))
    }

    /// Returns true if the response to a later request shows an animal with this id that satisfies `like`. Where others may have emptied
    /// the catalogue meanwhile, a further creation with the id makes another animal.
    pub fn is_seen_after(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> bool {
        let later = self.shown(id).rev().take_while(|(later, _)| entry.precedes(later));
        if !self.recreated.contains(&id) {
            return later.map(|(_, animal)| animal).any(like);
        }
        later.fold(false, |is_seen, (later, animal)| {
            !matches!(later.operation, Operation::Create(_)) && (is_seen || like(animal))
        })
    }

    /// The first response, so long before a request that reads cannot lag any more, that shows an animal with this id that satisfies
    /// `like`.
    pub fn seen_before(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> Option<&Entry<'t>> {
        for (earlier, animal) in self.shown(id) {
            let passed = entry.exchange.sent_at.duration_since(earlier.exchange.received_at);
            if !earlier.precedes(entry) || passed < self.lag {
                break;
            }
            if like(animal) {
                return Some(earlier);
            }
        }
        None
    }
}
