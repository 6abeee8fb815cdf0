//! Authentication: from an `Authorization` header to the record of a key, which contains its usage.
//!
//! Each request looks its key up in the database, so that a key issued or revoked on the command line counts from the
//! very next request. The usage of a key is kept in memory from its first request on, and stored at intervals.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::api::{keys, respond::ApiError};
use crate::domain::plan::Limits;
use crate::domain::rate_limit::{BanPolicy, Decision, Usage};
use crate::store::{Store, StoreError, lock};

/// A key that is in force.
pub struct Key {
    /// The number of the key.
    pub id: i64,
    /// The numbers of requests that the key admits.
    pub limits: Limits,
    ledger: Mutex<Ledger>,
}

struct Ledger {
    usage: Usage,
    /// Whether `usage` has changed since it was last stored.
    unsaved: bool,
}

impl Key {
    /// Decides one request at `now` and counts it if it is admitted.
    pub fn decide(&self, ban: BanPolicy, now: u64) -> Decision {
        let mut ledger = lock(&self.ledger);
        ledger.unsaved = true;
        ledger.usage.decide(self.limits, ban, now)
    }
}

/// The API keys of a server, with the usage of those that have had a request.
pub struct KeyRing {
    store: Arc<Store>,
    /// The keys that have been used, by their numbers.
    used: Mutex<HashMap<i64, Arc<Key>>>,
}

impl KeyRing {
    /// The keys of a database.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, used: Mutex::default() }
    }

    /// Finds the key that the headers present.
    ///
    /// # Errors
    ///
    /// 401 unless exactly one header presents a key that is in force; 5xx when the database cannot be read, so that no request is
    /// admitted by accident.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Key>, ApiError> {
        // The challenge names an error only where credentials were presented (RFC 6750 section 3.1).
        let (message, challenge) = match bearer_token(headers).map(|presented| self.find(presented)).transpose()? {
            Some(Some(key)) => return Ok(key),
            Some(None) => {
                ("the API key is unknown or was revoked", r#"Bearer realm="animal-store", error="invalid_token""#)
            }
            None => ("send an API key: Authorization: Bearer <API key>", r#"Bearer realm="animal-store""#),
        };
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        Err(error.with(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
    }

    /// The key of this text, if it is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn find(&self, presented: &str) -> Result<Option<Arc<Key>>, StoreError> {
        // The database is read without the lock of all keys: a slow disk holds up this key alone.
        let Some((id, limits, usage)) = self.store.key_in_force(&keys::hash(presented))? else { return Ok(None) };
        // The first request makes the record with the stored usage. Every other one finds it, also one that arrives together with it.
        let record = || Arc::new(Key { id, limits, ledger: Mutex::new(Ledger { usage, unsaved: false }) });
        Ok(Some(Arc::clone(lock(&self.used).entry(id).or_insert_with(record))))
    }

    /// The usage of the keys with a request since the start, by their numbers.
    pub fn usage(&self) -> HashMap<i64, Usage> {
        self.all().iter().map(|key| (key.id, lock(&key.ledger).usage)).collect()
    }

    /// Sets the usage of the keys with a request since the start, by their numbers. The usage of a key that is not named becomes zero.
    pub fn set_usage(&self, usage: &HashMap<i64, Usage>) {
        for key in self.all() {
            *lock(&key.ledger) = Ledger { usage: usage.get(&key.id).copied().unwrap_or_default(), unsaved: true };
        }
    }

    /// The keys with a request since the start.
    fn all(&self) -> Vec<Arc<Key>> {
        lock(&self.used).values().cloned().collect()
    }

    /// Stores the usage of the keys with a request since the last call. The next call stores the usage that could not be stored.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the usage could not be stored.
    pub async fn save_usage(&self) -> Result<(), StoreError> {
        let mut unsaved = self.all();
        unsaved.retain(|key| std::mem::take(&mut lock(&key.ledger).unsaved));
        if unsaved.is_empty() {
            return Ok(());
        }
        let outcome =
            self.store.save_usage(unsaved.iter().map(|key| (key.id, lock(&key.ledger).usage)).collect()).await;
        if outcome.is_err() {
            unsaved.iter().for_each(|key| lock(&key.ledger).unsaved = true);
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
    use std::time::Duration;

    use super::*;
    use crate::domain::plan::Plan;

    fn ring() -> KeyRing {
        KeyRing::new(Arc::new(Store::temporary().expect("a store")))
    }

    #[test]
    fn what_keys_have_used_can_be_read_and_set() {
        let ring = ring();
        let (number, key) = keys::issue(&ring.store.keys, "x", Plan::Free, 0).expect("a key");
        let used = |ring: &KeyRing| ring.usage()[&number].in_minute;
        let decide = || {
            let key = ring.find(key.reveal()).expect("a database").expect("a valid key");
            key.decide(BanPolicy { after: 10, seconds: 300 }, 600)
        };
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
    fn the_first_request_of_a_key_holds_up_no_other_key_while_the_database_is_read() {
        let ring = ring();
        let (_, key) = keys::issue(&ring.store.keys, "x", Plan::Free, 0).expect("a key");
        let slow_disk = ring.store.occupy();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| ring.find(key.reveal()).expect("a database").is_some());
            for _ in 0..50 {
                std::thread::sleep(Duration::from_millis(1));
                assert!(ring.used.try_lock().is_ok(), "other keys have to wait");
            }
            drop(slow_disk);
            assert!(first.join().expect("no panic"));
        });
    }

    #[test]
    fn first_requests_that_arrive_together_share_one_record() {
        let ring = ring();
        let (_, key) = keys::issue(&ring.store.keys, "x", Plan::Free, 0).expect("a key");
        let slow_disk = ring.store.occupy();
        std::thread::scope(|scope| {
            let find = || ring.find(key.reveal()).expect("a database").expect("a valid key");
            let threads = [(); 8].map(|()| scope.spawn(find));
            drop(slow_disk);
            let [first, others @ ..] = threads.map(|thread| thread.join().expect("no panic"));
            assert!(others.iter().all(|other| Arc::ptr_eq(other, &first)));
        });
    }
}
