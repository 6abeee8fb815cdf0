//! Authentication: from an `Authorization` header to the record of a key, which contains its usage.
//!
//! Each request looks its key up in the database, so that a key issued or revoked on the command line counts from the
//! very next request. The usage of a key is kept in memory from its first request on, and stored at intervals.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, header};

use crate::api::error::ApiError;
use crate::api::keys;
use crate::domain::plan::Limits;
use crate::domain::rate_limit::{BanPolicy, Decision, Usage};
use crate::store::{Store, StoreError};

/// A key that is in force.
pub struct Key {
    /// The number of the key.
    pub id: i64,
    limits: Limits,
    ledger: Mutex<Ledger>,
}

struct Ledger {
    usage: Usage,
    /// Whether `usage` has changed since it was last stored.
    unsaved: bool,
}

impl Key {
    /// The numbers of requests that the key admits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Decides one request at `now` and counts it if it is admitted.
    pub fn decide(&self, ban: BanPolicy, now: u64) -> Decision {
        let mut ledger = self.ledger();
        ledger.unsaved = true;
        ledger.usage.decide(self.limits, ban, now)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason why a request has no valid key.
#[derive(Debug)]
pub enum AuthError {
    /// There is no usable `Authorization: Bearer` header.
    Missing,
    /// The key is unknown, mistyped or revoked.
    Invalid,
    /// The database failed, so that it is unknown whether the key is valid.
    Unknown(StoreError),
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        // The challenge names an error only where credentials were presented (RFC 6750 section 3.1).
        let (message, challenge) = match error {
            AuthError::Missing => ("send an API key: Authorization: Bearer <API key>", "Bearer realm=\"animal-store\""),
            AuthError::Invalid => {
                ("the API key is unknown or was revoked", "Bearer realm=\"animal-store\", error=\"invalid_token\"")
            }
            // No request is admitted by accident.
            AuthError::Unknown(error) => return error.into(),
        };
        Self::unauthorized(message, challenge)
    }
}

/// The API keys of a server, with the usage of those that have had a request.
pub struct KeyRing {
    store: Arc<Store>,
    /// The keys that have been used, by their hashes. The time of a search may reveal a part of a stored hash, but no key can
    /// be derived from it.
    used: Mutex<HashMap<[u8; 32], Arc<Key>>>,
}

impl KeyRing {
    /// The keys of a database.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, used: Mutex::default() }
    }

    /// Finds the key that the headers present.
    ///
    /// # Errors
    ///
    /// [`AuthError`] unless exactly one header presents a key that is in force.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Key>, AuthError> {
        let presented = bearer_token(headers).ok_or(AuthError::Missing)?;
        self.find(presented).map_err(AuthError::Unknown)?.ok_or(AuthError::Invalid)
    }

    /// The key of this text, if it is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn find(&self, presented: &str) -> Result<Option<Arc<Key>>, StoreError> {
        let hash = keys::hash(presented.as_bytes());
        let Some((id, limits)) = self.store.key_in_force(&hash)? else { return Ok(None) };
        // Of several first requests that arrive together, one makes the record and the others find it.
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = used.get(&hash).filter(|key| key.id == id && key.limits == limits) {
            return Ok(Some(Arc::clone(key)));
        }
        let usage = self.store.key(&hash)?.map(|stored| stored.usage).unwrap_or_default();
        let key = Arc::new(Key { id, limits, ledger: Mutex::new(Ledger { usage, unsaved: false }) });
        used.insert(hash, Arc::clone(&key));
        Ok(Some(key))
    }

    /// The usage of the keys with a request since the start, by their numbers.
    #[must_use]
    pub fn usage(&self) -> HashMap<i64, Usage> {
        self.all().iter().map(|key| (key.id, key.ledger().usage)).collect()
    }

    /// Sets the usage of the keys with a request since the start, by their numbers. The usage of a key that is not named becomes zero.
    pub fn set_usage(&self, usage: &HashMap<i64, Usage>) {
        for key in self.all() {
            *key.ledger() = Ledger { usage: usage.get(&key.id).copied().unwrap_or_default(), unsaved: true };
        }
    }

    /// The keys with a request since the start.
    fn all(&self) -> Vec<Arc<Key>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Stores the usage of the keys with a request since the last call. The next call stores the usage that could not be stored.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the usage could not be stored.
    pub async fn save_usage(&self) -> Result<(), StoreError> {
        let mut unsaved = Vec::new();
        for key in self.all() {
            let mut ledger = key.ledger();
            if std::mem::take(&mut ledger.unsaved) {
                let usage = ledger.usage;
                drop(ledger);
                unsaved.push((key, usage));
            }
        }
        if unsaved.is_empty() {
            return Ok(());
        }
        let outcome = self.store.save_usage(unsaved.iter().map(|(key, usage)| (key.id, *usage)).collect()).await;
        if outcome.is_err() {
            for (key, _) in &unsaved {
                key.ledger().unsaved = true;
            }
        }
        outcome
    }
}

/// The credential of the only `Authorization` header, if its scheme is Bearer in any case (RFC 9110 section 11.1).
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
    use crate::api::keys::ApiKey;
    use crate::domain::plan::Plan;
    use crate::store::{KeyStore, Location};

    fn ring() -> (Arc<Store>, KeyStore, KeyRing) {
        let store = Arc::new(Store::open(&Location::Scratch).expect("a store"));
        let key_store = KeyStore::open_for(&store).expect("a second connection");
        let ring = KeyRing::new(Arc::clone(&store));
        (store, key_store, ring)
    }

    fn bearing(key: &ApiKey) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, format!("Bearer {}", key.reveal()).parse().expect("a header"));
        headers
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
}
