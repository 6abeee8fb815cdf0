//! Ready response bodies of single animals. An animal never changes and never goes away, so a body that
//! was right once stays right, and nothing ever has to be invalidated. Where a test may replace the whole catalogue, no
//! body is kept.

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The memory that all bodies together may take, in bytes: enough for some 380,000 animals with short names.
const BUDGET: u64 = 64 * 1024 * 1024;

/// What a body takes beside its text, in bytes: its place in the cache, the identifier, the count of its users and
/// the allocator's bookkeeping. A process grows by 96 for each of 200,000 animals; the rest is for tables that have
/// just doubled.
const OVERHEAD: u64 = 112;

/// For which number of animals room is made before the first is kept; it grows by itself.
const EXPECTED: usize = 4096;

/// The bodies that were asked for lately or often, up to the budget; `None` keeps none.
pub(crate) struct BodyCache(Option<Cache<i64, Bytes, Size>>);

impl Default for BodyCache {
    fn default() -> Self {
        Self::with_budget(BUDGET)
    }
}

impl BodyCache {
    fn with_budget(bytes: u64) -> Self {
        Self(Some(Cache::with_weighter(EXPECTED, bytes, Size)))
    }

    /// A cache that keeps nothing.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// The body of the animal with this identifier, if it is kept.
    #[must_use]
    pub(crate) fn get(&self, id: i64) -> Option<Bytes> {
        self.0.as_ref()?.get(&id)
    }

    /// Keeps a body, and drops others if there is no room for it.
    pub(crate) fn put(&self, id: i64, body: &Bytes) {
        if let Some(cache) = &self.0 {
            cache.insert(id, body.clone());
        }
    }
}

/// How much of the budget a body takes.
#[derive(Clone)]
struct Size;

impl Weighter<i64, Bytes> for Size {
    fn weight(&self, _id: &i64, body: &Bytes) -> u64 {
        body.len() as u64 + OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_found_by_its_own_identifier_and_no_other() {
        let cache = BodyCache::default();
        for id in [1, 7, i64::MAX] {
            cache.put(id, &Bytes::from(id.to_string()));
        }
        assert_eq!(cache.get(7).as_deref(), Some(&b"7"[..]));
        assert_eq!(cache.get(i64::MAX).as_deref(), Some(i64::MAX.to_string().as_bytes()));
        assert_eq!([0, -1, -7, i64::MIN, 8].map(|id| cache.get(id)), [const { None }; 5]);
    }

    #[test]
    fn a_cache_that_keeps_nothing_finds_nothing() {
        let cache = BodyCache::none();
        cache.put(1, &Bytes::from("1"));
        assert_eq!(cache.get(1), None);
    }

    #[test]
    fn a_hundred_thousand_short_bodies_are_kept_together() {
        let cache = BodyCache::default();
        let body = Bytes::from(vec![b'x'; 100]);
        // Identifiers far apart take no more room than neighbours.
        (0..100_000).for_each(|number| cache.put(1 + number * 10, &body));
        assert_eq!((0..100_000).filter(|number| cache.get(1 + number * 10).is_some()).count(), 100_000);
    }

    #[test]
    fn what_is_kept_stays_within_the_budget_whatever_its_length() {
        for length in [0, 100, 8_000] {
            let budget = 4 * 1024 * 1024;
            let cache = BodyCache::with_budget(budget);
            let body = Bytes::from(vec![b'x'; length]);
            (1..100_000).for_each(|id| cache.put(id, &body));
            let kept = (1..100_000).filter(|id| cache.get(*id).is_some()).count() as u64;
            let size = kept * (length as u64 + OVERHEAD);
            assert!(size <= budget && size > budget / 4, "{kept} bodies of {length} bytes");
        }
    }
}
