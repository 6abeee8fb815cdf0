//! Where the answers show each animal.

use std::collections::HashMap;

use super::{Animal, Entry, History};
use crate::tolerance::Tolerance;

/// For every id: the places that show an animal with it, in order.
pub(super) type Sightings = HashMap<i64, Vec<Sighting>>;

/// A place where an answer shows an animal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    /// Index of the entry.
    entry: usize,
    /// Which of the animals in its answer.
    place: usize,
}

/// Notes every animal that the entries show.
pub(super) fn of(entries: &[Entry<'_>]) -> Sightings {
    let mut sightings = Sightings::new();
    for (index, entry) in entries.iter().enumerate() {
        for (place, animal) in entry.animals().into_iter().enumerate() {
            if let Some(id) = animal.id() {
                sightings.entry(id).or_default().push(Sighting { entry: index, place });
            }
        }
    }
    sightings
}

impl<'t> History<'t> {
    /// Every id with which an animal is shown, in no order.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.sightings.keys().copied()
    }

    /// Whether an answer shows an animal with this id.
    #[must_use]
    pub fn is_shown(&self, id: i64) -> bool {
        self.sightings.contains_key(&id)
    }

    /// The answers that show the animal with this id, and the animal in them, in order.
    #[must_use]
    pub fn shown(&self, id: i64) -> impl DoubleEndedIterator<Item = (&Entry<'t>, Animal<'_>)> {
        self.sightings.get(&id).into_iter().flatten().filter_map(|sighting| {
            let entry = &self.entries[sighting.entry];
            Some((entry, entry.animal_at(sighting.place)?))
        })
    }

    /// What answers before `entry` show of the animal with this id: the earliest, which is its creation if the run made it.
    #[must_use]
    pub fn known(&self, id: i64, entry: &Entry<'_>) -> Option<(&Entry<'t>, Animal<'_>)> {
        self.shown(id).next().filter(|(first, _)| first.precedes(entry))
    }

    /// Whether another answer, earlier or later, shows the animal with this id.
    #[must_use]
    pub fn is_shown_elsewhere(&self, id: i64, entry: &Entry<'_>) -> bool {
        self.shown(id).any(|(other, _)| !std::ptr::eq(other, entry))
    }

    /// Whether an answer to a later request shows the animal like this.
    #[must_use]
    pub fn is_seen_after(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> bool {
        let later = self.shown(id).rev().take_while(|(later, _)| entry.precedes(later));
        later.map(|(_, animal)| animal).any(like)
    }

    /// The animal in the next answer to a later request that shows it, and whether that comes so soon that nothing can have happened in
    /// between.
    #[must_use]
    pub fn next_sighting(&self, id: i64, entry: &Entry<'_>) -> Option<(bool, Animal<'_>)> {
        let (later, animal) = self.shown(id).find(|(later, _)| entry.precedes(later))?;
        let passed = later.exchange.received_at.duration_since(entry.exchange.sent_at);
        Some((passed <= Tolerance::READ_LAG.duration(), animal))
    }

    /// Whether an answer so shortly before a request that nothing can have happened since shows the animal like this.
    #[must_use]
    pub fn is_seen_shortly_before(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> bool {
        let is_recent = |earlier: &Entry<'_>| {
            let passed = entry.exchange.received_at.duration_since(earlier.exchange.sent_at);
            passed <= Tolerance::READ_LAG.duration()
        };
        let mut earlier = self.shown(id).filter(|(earlier, _)| earlier.precedes(entry) && is_recent(earlier));
        earlier.any(|(_, animal)| like(animal))
    }

    /// The first answer, so long before a request that reads cannot lag any more, that shows the animal like this.
    pub fn seen_before(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> Option<&Entry<'t>> {
        let is_settled = |earlier: &Entry<'_>| {
            let passed = entry.exchange.sent_at.duration_since(earlier.exchange.received_at);
            earlier.precedes(entry) && passed >= self.lag
        };
        let mut earlier = self.shown(id).take_while(|(earlier, _)| is_settled(earlier));
        earlier.find(|(_, animal)| like(*animal)).map(|(earlier, _)| earlier)
    }
}
