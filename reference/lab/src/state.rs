//! The state that the layers of one server share.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::{MINUTE, Request, Response, Setting};
use animal_store_reference::app::App;
use animal_store_reference::auth::Key;
use animal_store_reference::clock::Clock;
use animal_store_reference::store::StoreError;

/// The state that the layers of one server share.
pub struct ServerState {
    app: Arc<App>,
    window: i64,
    /// The id of the last animal that was there at the start; 0 for none.
    last_of_start: i64,
    memory: Mutex<Memory>,
    own: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The memory that the layers share.
#[derive(Debug, Default)]
pub struct Memory {
    /// The time of creation of each animal that was created since the start, by its id.
    born: HashMap<i64, Timestamp>,
    /// Animals that only a layer knows.
    pub ghosts: Vec<Value>,
    /// Responses to be given again.
    pub cache: HashMap<String, Response>,
    /// A counter for the use of one layer.
    pub count: u64,
    /// The time of the first read of each animal, by its id.
    pub read: HashMap<i64, Timestamp>,
    /// Ids that are shown in place of others.
    pub ids: HashMap<i64, i64>,
    /// Valid keys that were presented or issued, by their numbers: the store has nothing but their hashes.
    keys: BTreeMap<i64, String>,
}

impl ServerState {
    pub(super) fn new(app: Arc<App>, setting: &Setting) -> Result<ServerState, StoreError> {
        let window = i64::from(setting.window.unwrap_or(MINUTE).max(1));
        let mut last_of_start = 0;
        app.store.newest(None, 1, |row| last_of_start = row.id)?;
        Ok(ServerState { app, window, last_of_start, memory: Mutex::default(), own: Mutex::default() })
    }

    /// The path below which the API lives.
    #[must_use]
    pub fn base_path(&self) -> &str {
        &self.app.base_path
    }

    /// The length of a window of requests per minute, in seconds.
    #[must_use]
    pub fn window(&self) -> i64 {
        self.window
    }

    /// Scales a duration in seconds from windows of a minute to those of this server; at least one second.
    #[must_use]
    pub fn scaled(&self, seconds: i64) -> i64 {
        (seconds * self.window / i64::from(MINUTE)).max(1)
    }

    /// The server's time, in Unix seconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        i64::try_from(self.clock().now()).unwrap_or(i64::MAX)
    }

    /// The server's time, with fractions of a second.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.clock().timestamp()
    }

    /// The server's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.app.clock
    }

    /// The memory that the layers share.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The animals that the reference has, newest first. There are none if its database cannot be read.
    #[must_use]
    pub fn newest(&self) -> Vec<Value> {
        let mut pets = Vec::new();
        let _unreadable =
            self.app.store.newest(None, u32::MAX, |row| pets.push(serde_json::to_value(row).unwrap_or_default()));
        pets
    }

    /// The animal of the reference with this id.
    #[must_use]
    pub fn pet(&self, id: i64) -> Option<Value> {
        self.app.store.animal(id, |row| serde_json::to_value(row).unwrap_or_default()).ok().flatten()
    }

    /// Notes that an animal was created now.
    pub(super) fn note_created(&self, id: i64) {
        let now = self.timestamp();
        self.memory().born.insert(id, now);
    }

    /// The time at which an animal was created; 1970 for those of the start.
    #[must_use]
    pub fn born(&self, id: i64) -> Timestamp {
        match self.memory().born.get(&id) {
            Some(born) => *born,
            // The response to its creation has not arrived here.
            None if id > self.last_of_start => self.timestamp(),
            None => Timestamp::UNIX_EPOCH,
        }
    }

    /// Increments the counter and returns it.
    pub fn count(&self) -> u64 {
        let mut memory = self.memory();
        memory.count += 1;
        memory.count
    }

    /// Uses the private memory of one layer, found by its type. It is empty when the server starts.
    pub fn own<T: Default + Send + 'static, R>(&self, use_memory: impl FnOnce(&mut T) -> R) -> R {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = Arc::clone(own.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(Mutex::new(T::default()))));
        drop(own);
        // The value under the id of a type is of that type.
        let memory: Arc<Mutex<T>> = memory.downcast().unwrap_or_default();
        use_memory(&mut memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that a request presents, if it is in force.
    #[must_use]
    pub fn key_of(&self, request: &Request) -> Option<Arc<Key>> {
        self.app.keys.authenticate(&request.headers).ok()
    }

    /// The valid keys that are known in full, in the order in which they were issued.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.memory().keys.values().cloned().collect()
    }

    /// Remembers the key that a request presents, if it is valid.
    pub(super) fn learn_key(&self, request: &Request) {
        if let (Some(key), Some((_, text))) = (self.key_of(request), request.authorization().split_once(' ')) {
            self.remember(key.id, text.trim());
        }
    }

    /// Remembers a key if it is valid.
    pub(super) fn learn(&self, text: &str) {
        if let Ok(Some(key)) = self.app.keys.find(text) {
            self.remember(key.id, text);
        }
    }

    fn remember(&self, number: i64, text: &str) {
        self.memory().keys.entry(number).or_insert_with(|| text.to_owned());
    }
}
