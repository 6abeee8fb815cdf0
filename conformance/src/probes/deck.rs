//! The near misses of a run, drawn from the table by the seed.

use super::session::Session;
use super::steps::{digits, listed_ids};
use animal_store_rules::near_misses::{NearMiss, Target, Values, near_misses};
use animal_store_rules::trace::exchange::Request;

/// The near misses of a run with the key, those that every run sends first.
#[derive(Debug)]
pub(super) struct Deck {
    /// The near misses that may create an animal.
    pub(super) creations: Vec<&'static NearMiss>,
    /// The near misses without a body.
    pub(super) reads: Vec<&'static NearMiss>,
}

impl Deck {
    /// Draws near misses: those that come first, by length, then the others by weight, as the seed chooses.
    pub(super) fn drawn(seed: u64) -> Deck {
        let rows = drawn(seed, |row| !row.place.is_keyless());
        let (creations, reads) = rows.into_iter().partition(|row| row.place.creates());
        Deck { creations, reads }
    }
}

/// Draws near misses without a valid key in the same way.
pub(super) fn keyless(seed: u64) -> Vec<&'static NearMiss> {
    drawn(seed, |row| row.place.is_keyless())
}

fn drawn(seed: u64, is_wanted: fn(&NearMiss) -> bool) -> Vec<&'static NearMiss> {
    let mut rows: Vec<(f64, &NearMiss)> = near_misses()
        .iter()
        .map(|row| {
            // Each row has a generator of its own, so that a further row changes no other draw. This is the hash FNV-1a, which begins with the
            // seed.
            let step = row.step(Target::List);
            let hash = step.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            let mut random = fastrand::Rng::with_seed(hash);
            // The smallest of exponential variables chooses by rate (Efraimidis and Spirakis, 2006): one step of weight is a factor of four.
            let rate = 4_f64.powi(i32::from(row.weight));
            // Of those that come first, the longest lead: what a server leaves unread of them shows in a read after it.
            let first = -(row.length() as f64);
            (if row.is_first { first } else { -(1.0 - random.f64()).ln() / rate }, row)
        })
        .collect();
    rows.retain(|(_, row)| is_wanted(row));
    rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The values of one request that replace the placeholders of near misses.
pub(super) struct OwnValues {
    name: String,
    digits: String,
    key: String,
    unknown: String,
    category: i64,
    id: Option<i64>,
}

impl OwnValues {
    /// The values of the next request. `id` is the id of an animal, if one is known.
    pub(super) fn next(session: &mut Session<'_>, id: Option<i64>) -> OwnValues {
        OwnValues {
            name: session.fresh_name(),
            digits: digits(session)[..4].to_owned(),
            key: session.key().reveal().to_owned(),
            unknown: format!("conform-unknown-{:016x}", session.random.u64(..)),
            category: session.trace().context.category_id,
            id,
        }
    }

    /// The values, as the table takes them.
    pub(super) fn borrowed(&self) -> Values<'_> {
        Values {
            name: &self.name,
            digits: &self.digits,
            category: self.category,
            id: self.id,
            key: &self.key,
            unknown: &self.unknown,
        }
    }
}

/// The request of a near miss, and its step. `None` if the run lacks a value for it.
pub(super) fn request(
    session: &mut Session<'_>,
    row: &NearMiss,
    target: Target,
    id: Option<i64>,
) -> Option<(Request, String)> {
    // A server that takes the id in a body for that of the new animal may replace an animal: only one of the run's own.
    let id = id.filter(|id| !row.place.creates() || session.known_ids().contains(id));
    let values = OwnValues::next(session, id);
    Some((row.request(target, &values.borrowed())?, row.step(target)))
}

/// The name of the family of names that stores and readers alter.
pub(super) const NAMES: &str = "names";

/// The longest value of a name among other requests, in bytes.
const SHORT: usize = 200;

/// A creation with a name that stores and readers alter: the one at this place of those that the seed draws.
pub(super) fn name(session: &mut Session<'_>, place: usize) -> Option<Request> {
    let is_short = |row: &NearMiss| row.family == NAMES && row.length() < SHORT && !row.is_first;
    let row = *drawn(session.seed, is_short).get(place)?;
    request(session, row, Target::Create, None).map(|(request, _)| request)
}

/// The id of an animal for near misses that resemble it: one that the run has created, else one that the first list shows.
pub(super) fn an_id(session: &Session<'_>) -> Option<i64> {
    let created = session.known_ids();
    let ids = if created.is_empty() { listed_ids(session.trace().exchanges.first()) } else { created };
    // Readers that skip a character between digits need two of them.
    let long: Vec<i64> = ids.iter().copied().filter(|id| *id > 9).collect();
    let mut ids = if long.is_empty() { ids } else { long };
    // Creations at the same time get their ids in any order.
    ids.sort_unstable();
    // The generator of the session draws what the other probes send.
    let mut random = fastrand::Rng::with_seed(session.seed ^ session.trace().exchanges.len() as u64);
    (!ids.is_empty()).then(|| ids[random.usize(..ids.len())])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probes::near_misses::{CREATIONS, READS};

    #[test]
    fn a_free_key_sends_all_that_come_first_and_the_seed_draws_the_rest() {
        let first = |rows: &[&NearMiss]| rows.iter().filter(|row| row.is_first).count();
        let deck = Deck::drawn(1);
        assert!(first(&deck.creations) <= CREATIONS, "{}", first(&deck.creations));
        assert!(first(&deck.reads) <= READS, "{}", first(&deck.reads));
        let sent = |seed| -> BTreeSet<String> {
            let deck = Deck::drawn(seed);
            let rows = deck.creations[..CREATIONS].iter().chain(&deck.reads[..READS]);
            rows.map(|row| row.step(Target::List)).collect()
        };
        assert_eq!(sent(1), sent(1));
        assert_ne!(sent(1), sent(2));
    }
}
