//! Authentication: from an `Authorization` header to the record of a key, with its usage in it.
//!
//! The records live in memory. Each request first looks whether any process has committed anything to the
//! database (eight bytes, see the store's `change_mark`), so that a key issued or revoked on the command
//! line counts from the very next request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use http::{HeaderMap, header};

use crate::keys;
use crate::plan::Limits;
use crate::rate_limit::{BanPolicy, Decision, Usage};
use crate::store::{Store, StoreError, StoredKey};

/// A key that is in force.
pub struct Key {
    /// Its number.
    pub id: i64,
    hash: [u8; 32],
    limits: Limits,
    ledger: Mutex<Ledger>,
    store: Arc<Store>,
}

struct Ledger {
    usage: Usage,
    /// Whether the database knows less than `usage`.
    unsaved: bool,
    /// What a restart after a kill will find: `usage`, or some requests more.
    noted: Usage,
}

impl Key {
    fn new(stored: &StoredKey, store: &Arc<Store>) -> Self {
        let ledger = Mutex::new(Ledger { usage: stored.usage, unsaved: false, noted: stored.usage });
        Self { id: stored.id, hash: stored.hash, limits: stored.limits, ledger, store: Arc::clone(store) }
    }

    /// Whether the stored key is still this one, so that what it has used goes on counting.
    fn is(&self, stored: &StoredKey) -> bool {
        self.id == stored.id && self.hash == stored.hash && self.limits == stored.limits
    }

    /// How many requests it may make.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Decides one request at `now` and counts it if it is admitted.
    pub fn decide(&self, ban: BanPolicy, now: u64) -> Decision {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.unsaved = true;
        let decision = ledger.usage.decide(self.limits, ban, now);
        // Within the lock, so that no note overwrites a later one.
        if !ledger.noted.covers(&ledger.usage) {
            let reserved = ledger.usage.with_reserve(self.limits);
            ledger.noted = reserved;
            self.store.note_usage(self.id, &self.hash, &reserved);
        }
        decision
    }
}

impl Drop for Key {
    /// What was reserved and not used is given back, unless the process is killed.
    fn drop(&mut self) {
        let ledger = self.ledger.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ledger.noted != ledger.usage {
            self.store.note_usage(self.id, &self.hash, &ledger.usage);
        }
    }
}

/// Why a request has no valid key.
#[derive(Debug)]
pub enum AuthError {
    /// There is no usable `Authorization: Bearer` header.
    Missing,
    /// The key is unknown, mistyped or revoked.
    Invalid,
    /// Whether the key is valid cannot be found out.
    Unknown(StoreError),
}

/// All keys in force.
pub struct KeyRing {
    store: Arc<Store>,
    /// The store's change mark that `keys` is known to be current for.
    current_for: AtomicU64,
    /// By their hashes. How long a search takes may reveal something of a stored hash, from which no key can be derived.
    keys: RwLock<HashMap<[u8; 32], Arc<Key>>>,
    /// The generation of `keys`; held while they are renewed.
    generation: Mutex<i64>,
}

impl KeyRing {
    /// Loads the keys of `store`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when they cannot be read.
    pub fn load(store: Arc<Store>) -> Result<Self, StoreError> {
        let ring = Self {
            store,
            current_for: AtomicU64::new(0),
            keys: RwLock::default(),
            // Below every generation, so that the first look loads the keys.
            generation: Mutex::new(0),
        };
        ring.renew()?;
        Ok(ring)
    }

    /// Finds the key that the headers present.
    ///
    /// # Errors
    ///
    /// [`AuthError`] unless exactly one header presents a key that is in force.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Key>, AuthError> {
        let presented = bearer_token(headers).ok_or(AuthError::Missing)?;
        let mark = self.store.change_mark();
        if mark.is_none_or(|mark| mark != self.current_for.load(Ordering::Acquire)) {
            self.renew().map_err(AuthError::Unknown)?;
        }
        self.find(presented).ok_or(AuthError::Invalid)
    }

    /// The key of this text, if it was in force when the keys were last read.
    #[must_use]
    pub fn find(&self, presented: &str) -> Option<Arc<Key>> {
        let hash = keys::hash(presented.as_bytes());
        self.keys.read().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
    }

    /// Whether no key is in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What the keys in force have used, by their numbers.
    #[must_use]
    pub fn usage(&self) -> HashMap<i64, Usage> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.values().map(|key| (key.id, key.ledger.lock().unwrap_or_else(PoisonError::into_inner).usage)).collect()
    }

    /// Sets what the keys in force have used, by their numbers; nothing for those that are not named.
    pub fn set_usage(&self, usage: &HashMap<i64, Usage>) {
        for key in self.keys.read().unwrap_or_else(PoisonError::into_inner).values() {
            let used = usage.get(&key.id).copied().unwrap_or_default();
            let mut ledger = key.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            *ledger = Ledger { usage: used, unsaved: true, noted: used };
            self.store.note_usage(key.id, &key.hash, &used);
        }
    }

    /// Brings the records up to date with the database.
    fn renew(&self) -> Result<(), StoreError> {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        // Read before the database is: a commit in between only makes the next request look again.
        let mark = self.store.change_mark();
        if self.store.key_generation()? != *generation {
            let (found, stored) = self.store.keys()?;
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            let renewed = stored.iter().filter(|key| key.revoked_at.is_none()).map(|stored| {
                let kept = keys.get(&stored.hash).filter(|key| key.is(stored)).cloned();
                (stored.hash, kept.unwrap_or_else(|| Arc::new(Key::new(stored, &self.store))))
            });
            *keys = renewed.collect();
            *generation = found;
        }
        if let Some(mark) = mark {
            self.current_for.store(mark, Ordering::Release);
        }
        Ok(())
    }

    /// Stores what keys have used since the last call. What could not be written is tried again
    /// with the next call.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it could not be written.
    pub async fn save_usage(&self) -> Result<(), StoreError> {
        let keys: Vec<Arc<Key>> = self.keys.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let unsaved: Vec<(Arc<Key>, Usage)> = keys
            .into_iter()
            .filter_map(|key| {
                let mut ledger = key.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                let usage = std::mem::take(&mut ledger.unsaved).then_some(ledger.usage);
                drop(ledger);
                usage.map(|usage| (key, usage))
            })
            .collect();
        if unsaved.is_empty() {
            return Ok(());
        }
        let outcome = self.store.save_usage(unsaved.iter().map(|(key, usage)| (key.id, *usage)).collect()).await;
        if outcome.is_err() {
            for (key, _) in &unsaved {
                key.ledger.lock().unwrap_or_else(PoisonError::into_inner).unsaved = true;
            }
        }
        outcome
    }
}

/// The credential of the one `Authorization` header, if its scheme is Bearer. The name of a scheme has no
/// case (RFC 9110 section 11.1).
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::ApiKey;
    use crate::plan::Plan;
    use crate::store::{KeyStore, Location};

    fn ring() -> (Arc<Store>, KeyStore, KeyRing) {
        let store = Arc::new(Store::open(&Location::Scratch, 16).expect("a store"));
        let key_store = KeyStore::open_for(&store).expect("a second connection");
        let ring = KeyRing::load(Arc::clone(&store)).expect("a key ring");
        (store, key_store, ring)
    }

    fn bearing(key: &ApiKey) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, format!("Bearer {}", key.reveal()).parse().expect("a header"));
        headers
    }

    #[test]
    fn keys_count_from_the_next_request_after_they_are_issued_and_until_they_are_revoked() {
        let (_store, key_store, ring) = ring();
        for round in 0..50 {
            let (number, key) = keys::issue(&key_store, "x", Plan::Free, round).expect("a key");
            assert_eq!(ring.authenticate(&bearing(&key)).expect("a valid key").id, number);
            assert!(key_store.revoke(number, round).expect("revoked"));
            assert!(matches!(ring.authenticate(&bearing(&key)), Err(AuthError::Invalid)));
        }
    }

    #[test]
    fn a_thousand_requests_on_many_threads_admit_exactly_sixty() {
        let (_store, key_store, ring) = ring();
        let (_, key) = keys::issue(&key_store, "x", Plan::Free, 0).expect("a key");
        let (headers, never) = (bearing(&key), BanPolicy { after: 0, seconds: 0 });
        let admitted: usize = std::thread::scope(|scope| {
            let count = || {
                let decide = || ring.authenticate(&headers).expect("a valid key").decide(never, 1_000_000_000);
                (0..100).filter(|_| matches!(decide(), Decision::Admitted(_))).count()
            };
            let threads: Vec<_> = (0..10).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a count")).sum()
        });
        assert_eq!(admitted, 60);
    }

    #[test]
    fn a_change_of_another_key_keeps_what_this_one_has_used() {
        let (_store, key_store, ring) = ring();
        let (_, key) = keys::issue(&key_store, "x", Plan::Free, 0).expect("a key");
        for _ in 0..60 {
            ring.authenticate(&bearing(&key)).expect("a valid key").decide(BanPolicy::default(), 600);
        }
        keys::issue(&key_store, "y", Plan::Free, 0).expect("another key");
        let decision = ring.authenticate(&bearing(&key)).expect("a valid key").decide(BanPolicy::default(), 600);
        assert!(matches!(decision, Decision::Refused { .. }));
    }

    #[test]
    fn what_keys_have_used_can_be_read_and_set() {
        let (_store, key_store, ring) = ring();
        let (number, key) = keys::issue(&key_store, "x", Plan::Free, 0).expect("a key");
        let used = |ring: &KeyRing| ring.usage()[&number].in_minute;
        let decide = || ring.authenticate(&bearing(&key)).expect("a valid key").decide(BanPolicy::default(), 600);
        for _ in 0..3 {
            decide();
        }
        let three = ring.usage();
        for _ in 0..70 {
            decide();
        }
        assert_eq!((three[&number].in_minute, used(&ring)), (3, 60));
        ring.set_usage(&three);
        assert_eq!(used(&ring), 3);
        ring.set_usage(&HashMap::new());
        assert!(used(&ring) == 0 && matches!(decide(), Decision::Admitted(_)));
    }

    #[test]
    fn only_one_bearer_header_presents_a_key() {
        let token = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().expect("a header"));
            }
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(token(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(token(&["bEARER abc"]).as_deref(), Some("abc"));
        for wrong in
            [&[][..], &["abc"], &["Basic abc"], &["Bearer"], &["Bearer "], &["Bearerabc"], &["Bearer a", "Bearer a"]]
        {
            assert_eq!(token(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_key_is_the_same_one_only_with_the_same_secret_and_the_same_limits() {
        let (store, key_store, ring) = ring();
        assert!(ring.is_empty());
        let (_, issued) = keys::issue(&key_store, "x", Plan::Free, 0).expect("a key");
        assert!(ring.authenticate(&bearing(&issued)).is_ok() && !ring.is_empty());
        let stored = store.keys().expect("the keys").1.remove(0);
        let key = Key::new(&stored, &store);
        assert!(key.is(&stored));
        assert!(!key.is(&StoredKey { hash: [0; 32], ..stored.clone() }));
        assert!(!key.is(&StoredKey { id: stored.id + 1, ..stored.clone() }));
        assert!(!key.is(&StoredKey { limits: Plan::Pro.limits(), ..stored }));
    }
}
