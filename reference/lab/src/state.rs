//! The state that the layers of one server use.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::{MINUTE, Request, Response, Setting};
use animal_store_reference::{app::App, auth::Key, clock::Clock, store::StoreError};

/// The state of a server, as the layers of one fault or choice see it: the state of the reference, and a memory of their own.
pub struct ServerState {
    shared: Arc<Shared>,
    own: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The state that all layers of a server see.
struct Shared {
    app: Arc<App>,
    window: i64,
    /// The id of the last animal that was there at the start; 0 for none.
    last_of_start: i64,
    /// The time of creation of each animal that was created since the start, by its id.
    born: Mutex<HashMap<i64, Timestamp>>,
    /// Valid keys that were presented or issued, by their numbers: the store has nothing but their hashes.
    keys: Mutex<BTreeMap<i64, String>>,
}

/// The value in a mutex. A panic while it was locked has left it whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The responses that a fault has kept and their times, by the targets of the requests.
type Responses = HashMap<String, (i64, Response)>;

impl ServerState {
    pub(super) fn new(app: Arc<App>, setting: &Setting) -> Result<ServerState, StoreError> {
        let window = i64::from(setting.window.unwrap_or(MINUTE).max(1));
        let mut last_of_start = 0;
        app.store.newest(None, 1, |row| last_of_start = row.id)?;
        let shared = Shared { app, window, last_of_start, born: Mutex::default(), keys: Mutex::default() };
        Ok(ServerState { shared: Arc::new(shared), own: Mutex::default() })
    }

    /// The state of the same server for another part of it, with an empty memory.
    pub(super) fn for_another_part(&self) -> ServerState {
        ServerState { shared: Arc::clone(&self.shared), own: Mutex::default() }
    }

    /// The path below which the API lives.
    pub(crate) fn base_path(&self) -> &str {
        &self.shared.app.options.base_path
    }

    /// The length of a window of requests per minute, in seconds.
    pub(crate) fn window(&self) -> i64 {
        self.shared.window
    }

    /// The end of the present window of the clock, in Unix seconds.
    pub(crate) fn window_end(&self) -> i64 {
        self.now() - self.now().rem_euclid(self.window()) + self.window()
    }

    /// Scales a duration in seconds from windows of a minute to those of this server; at least one second.
    pub(crate) fn scaled(&self, seconds: i64) -> i64 {
        (seconds * self.window() / i64::from(MINUTE)).max(1)
    }

    /// The server's time, in Unix seconds.
    pub fn now(&self) -> i64 {
        i64::try_from(self.clock().now()).unwrap_or(i64::MAX)
    }

    /// The server's time, with fractions of a second.
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.clock().timestamp()
    }

    /// The server's clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.shared.app.options.clock
    }

    /// The animals that the reference has, newest first. There are none if its database cannot be read.
    pub(crate) fn newest(&self) -> Vec<Value> {
        let mut pets = Vec::new();
        let _unreadable = self
            .shared
            .app
            .store
            .newest(None, u32::MAX, |row| pets.push(serde_json::to_value(row).unwrap_or_default()));
        pets
    }

    /// The animal of the reference with this id.
    pub(crate) fn pet(&self, id: i64) -> Option<Value> {
        self.shared.app.store.animal(id, |row| serde_json::to_value(row).unwrap_or_default()).ok().flatten()
    }

    /// Notes that an animal was created now.
    pub(super) fn note_created(&self, id: i64) {
        lock(&self.shared.born).insert(id, self.timestamp());
    }

    /// The time at which an animal was created; 1970 for those of the start.
    pub(crate) fn born(&self, id: i64) -> Timestamp {
        match lock(&self.shared.born).get(&id) {
            Some(born) => *born,
            // The response to its creation has not arrived here.
            None if !self.is_of_start(id) => self.timestamp(),
            None => Timestamp::UNIX_EPOCH,
        }
    }

    /// Whether an animal was there when the server started.
    pub(crate) fn is_of_start(&self, id: i64) -> bool {
        id <= self.shared.last_of_start
    }

    /// Increments the counter of this fault or choice and returns it.
    pub(crate) fn count(&self) -> u64 {
        self.own(|count: &mut u64| {
            *count += 1;
            *count
        })
    }

    /// Increments a counter that begins anew in each period of this many seconds, and returns it.
    pub(crate) fn count_within(&self, seconds: i64) -> u64 {
        let period = self.now().div_euclid(seconds);
        self.own(|(last, count): &mut (i64, u64)| {
            *count = if *last == period { *count + 1 } else { 1 };
            *last = period;
            *count
        })
    }

    /// Remembers a value for this fault or choice. Returns true if it is new.
    pub(crate) fn is_new<T: Eq + Hash + Send + 'static>(&self, value: T) -> bool {
        self.own(|seen: &mut HashSet<T>| seen.insert(value))
    }

    /// Returns true if this fault or choice has remembered a value.
    pub(crate) fn has_seen<T: Eq + Hash + Send + 'static>(&self, value: &T) -> bool {
        self.own(|seen: &mut HashSet<T>| seen.contains(value))
    }

    /// Keeps a response for this fault, in place of an earlier one to the same request.
    pub(crate) fn keep(&self, request: &Request, response: &Response) {
        let kept = (self.now(), response.clone());
        self.own(|all: &mut Responses| all.insert(request.target(), kept));
    }

    /// The kept response to a request, if it is younger than this number of seconds.
    pub(crate) fn kept(&self, request: &Request, seconds: i64) -> Option<Response> {
        let (at, response) = self.own(|all: &mut Responses| all.get(&request.target()).cloned())?;
        (self.now() - at < seconds).then_some(response)
    }

    /// Forgets the kept responses.
    pub(crate) fn forget(&self) {
        self.own(|all: &mut Responses| all.clear());
    }

    /// Uses the memory of this fault or choice, found by its type. It is empty when the server starts.
    pub fn own<T: Default + Send + 'static, R>(&self, use_memory: impl FnOnce(&mut T) -> R) -> R {
        let mut own = lock(&self.own);
        let memory = Arc::clone(own.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(Mutex::new(T::default()))));
        drop(own);
        // The value under the id of a type is of that type.
        let memory: Arc<Mutex<T>> = memory.downcast().unwrap_or_default();
        use_memory(&mut lock(&memory))
    }

    /// The key that a request presents, if it is in force.
    pub fn key_of(&self, request: &Request) -> Option<Arc<Key>> {
        self.shared.app.keys.authenticate(&request.headers).ok()
    }

    /// The valid keys that are known in full, in the order in which they were issued.
    pub(crate) fn keys(&self) -> Vec<String> {
        lock(&self.shared.keys).values().cloned().collect()
    }

    /// Remembers the key that a request presents, if it is valid.
    pub(super) fn learn_key(&self, request: &Request) {
        if let (Some(key), Some((_, text))) = (self.key_of(request), request.authorization().split_once(' ')) {
            self.remember(key.id, text.trim());
        }
    }

    /// Remembers a key if it is valid.
    pub(super) fn learn(&self, text: &str) {
        if let Ok(Some(key)) = self.shared.app.keys.find(text) {
            self.remember(key.id, text);
        }
    }

    fn remember(&self, number: i64, text: &str) {
        lock(&self.shared.keys).entry(number).or_insert_with(|| text.to_owned());
    }
}
