//! Ready response bodies of single animals. An animal never changes and never goes away, so a body that
//! was right once stays right, and nothing ever has to be invalidated.

use std::sync::{PoisonError, RwLock};

use bytes::Bytes;

/// How many animals are kept: a power of two. Identifiers are handed out one after another, so the
/// newest this many all find a place of their own.
const PLACES: usize = 1 << 14;

/// Longer bodies are not kept, which bounds the whole cache at 32 MiB.
const MAX_BODY: usize = 2048;

/// A cache with one place for each identifier modulo its size; the last one to come stays.
pub(crate) struct BodyCache(Box<[RwLock<(i64, Bytes)>]>);

impl Default for BodyCache {
    fn default() -> Self {
        // No animal has identifier 0 (they begin at 1), so an empty place matches none.
        Self((0..PLACES).map(|_| RwLock::new((0, Bytes::new()))).collect())
    }
}

impl BodyCache {
    /// The body of the animal with this identifier, if it is kept.
    #[must_use]
    pub(crate) fn get(&self, id: i64) -> Option<Bytes> {
        if id <= 0 {
            return None;
        }
        let place = self.place(id).read().unwrap_or_else(PoisonError::into_inner);
        (place.0 == id).then(|| place.1.clone())
    }

    /// Keeps a body, in place of another.
    pub(crate) fn put(&self, id: i64, body: &Bytes) {
        if id > 0 && body.len() <= MAX_BODY {
            *self.place(id).write().unwrap_or_else(PoisonError::into_inner) = (id, body.clone());
        }
    }

    fn place(&self, id: i64) -> &RwLock<(i64, Bytes)> {
        // The remainder of a positive number by a power of two that fits every usize.
        &self.0[(id.unsigned_abs() % PLACES as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_belongs_to_the_last_identifier_that_took_it() {
        let (cache, other) = (BodyCache::default(), 7 + PLACES as i64);
        cache.put(7, &Bytes::from_static(b"seven"));
        assert_eq!(cache.get(7).as_deref(), Some(&b"seven"[..]));
        assert_eq!(cache.get(other), None);
        cache.put(other, &Bytes::from_static(b"other"));
        assert_eq!(cache.get(7), None);
    }

    #[test]
    fn what_no_animal_has_is_never_found() {
        let cache = BodyCache::default();
        assert_eq!([0, -1, i64::MIN, i64::MAX, PLACES as i64].map(|id| cache.get(id)), [const { None }; 5]);
        cache.put(1, &Bytes::from(vec![b'x'; MAX_BODY + 1]));
        assert_eq!(cache.get(1), None, "too long to keep");
    }

    #[test]
    fn an_identifier_that_is_never_found_displaces_none() {
        let cache = BodyCache::default();
        cache.put(PLACES as i64, &Bytes::from_static(b"kept"));
        cache.put(0, &Bytes::from_static(b"never found"));
        assert_eq!(cache.get(PLACES as i64).as_deref(), Some(&b"kept"[..]));
    }
}
