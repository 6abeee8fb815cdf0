//! All open connections: how many there may be, timing them out, and ending them when the server stops.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::ServeOptions;
use super::connection::{Phase, Progress, Ticks};

/// How exactly timeouts are kept.
const TICK: Duration = Duration::from_millis(100);

/// How long a closed connection may go on sending what nobody will read.
const LINGER: Duration = Duration::from_secs(2);

/// How often a stopping server looks whether its connections have ended.
const STOPPING_LOOK: Duration = Duration::from_millis(5);

/// How long a connection must have waited for its client before another may take its place. Below that, a busy
/// server with few places would cut off clients that are about to ask.
const SPARED: Duration = Duration::from_millis(500);

/// Whom the bound per address counts as one: an IPv4 address, or the /64 network that one IPv6 client usually has
/// all to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin(Option<IpAddr>);

impl Origin {
    /// The clients of a Unix socket. They have no address, and often are one front that serves many.
    pub(super) const LOCAL: Self = Self(None);
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        Self(Some(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }
}

/// A place for one connection, which it gives back when dropped.
pub(super) struct Place {
    origin: Origin,
    _permit: OwnedSemaphorePermit,
}

struct Open {
    origin: Origin,
    progress: Arc<Progress>,
    task: AbortHandle,
    /// Whether it was closed to make room, and only has to leave the list.
    closing: bool,
}

/// The connections of one server.
pub(super) struct Connections {
    ticks: Arc<Ticks>,
    next: AtomicU64,
    places: Arc<Semaphore>,
    max_per_origin: usize,
    open: Mutex<HashMap<u64, Open>>,
    /// How many connections each origin has.
    origins: Mutex<HashMap<Origin, usize>>,
}

impl Connections {
    /// Room for as many connections as the options allow.
    pub(super) fn new(options: &ServeOptions) -> Self {
        Self {
            ticks: Arc::default(),
            next: AtomicU64::new(0),
            places: Arc::new(Semaphore::new(options.max_connections)),
            max_per_origin: options.max_connections_per_address,
            open: Mutex::default(),
            origins: Mutex::default(),
        }
    }

    /// A place for a connection from `origin`. Where all are taken, the connection that has waited for its client
    /// the longest is closed for it; where all are at work, this waits. `None` if the origin has as many connections
    /// as one may have and none of them can be closed.
    pub(super) async fn place(&self, origin: Origin) -> Option<Place> {
        let held = lock(&self.origins).get(&origin).copied().unwrap_or_default();
        let is_bounded = origin != Origin::LOCAL;
        if is_bounded && held >= self.max_per_origin && !self.close_longest_waiting(|open| open.origin == origin) {
            return None;
        }
        loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(Place { origin, _permit: permit });
            }
            self.close_longest_waiting(|_| true);
            // What was closed gives its place back at once; if there was nothing, there may be soon.
            let freed = tokio::time::timeout(TICK, Arc::clone(&self.places).acquire_owned()).await;
            if let Ok(Ok(permit)) = freed {
                return Some(Place { origin, _permit: permit });
            }
        }
    }

    /// Closes the connection that has waited for its client the longest, if one has waited for long enough.
    fn close_longest_waiting(&self, among: impl Fn(&Open) -> bool) -> bool {
        let spared_since = self.ticks.now().saturating_sub(ticks_of(SPARED));
        let mut open = lock(&self.open);
        let candidates = open.values_mut().filter(|open| !open.closing && among(open));
        let waiting = candidates.filter_map(|open| match open.progress.phase() {
            // It has had its response.
            (Phase::Lingering, _) => Some((0, open)),
            (Phase::Idle | Phase::Head, since) if since < spared_since => Some((since, open)),
            _ => None,
        });
        let Some((_, longest)) = waiting.min_by_key(|(since, _)| *since) else { return false };
        longest.closing = true;
        longest.task.abort();
        true
    }

    /// Runs a connection in a task of its own.
    pub(super) fn spawn<F>(self: &Arc<Self>, place: Place, connection: impl FnOnce(Arc<Progress>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::new(Progress::new(Arc::clone(&self.ticks)));
        let origin = place.origin;
        *lock(&self.origins).entry(origin).or_default() += 1;
        let leaving = Leaving { connections: Arc::clone(self), number, place };
        let connection = connection(Arc::clone(&progress));
        // Held until the connection is entered, so that it cannot leave before.
        let mut open = lock(&self.open);
        let task = tokio::spawn(async move {
            let _leaving = leaving;
            connection.await;
        });
        open.insert(number, Open { origin, progress, task: task.abort_handle(), closing: false });
    }

    /// Ends connections that have been in one phase for too long.
    pub(super) async fn watch(self: Arc<Self>, options: ServeOptions) {
        let mut interval = tokio::time::interval(TICK);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let now = self.ticks.advance();
            for open in lock(&self.open).values() {
                let (phase, since) = open.progress.phase();
                let allowed = match phase {
                    Phase::Idle => options.idle_timeout,
                    Phase::Head => options.header_timeout,
                    Phase::Busy => continue,
                    Phase::Sending | Phase::Flushing => options.send_timeout,
                    Phase::Lingering => LINGER,
                };
                // More ticks than that, because the phase may have begun at the very end of its own.
                if now.saturating_sub(since) > ticks_of(allowed) {
                    open.task.abort();
                }
            }
        }
    }

    /// Lets requests in flight finish within `grace`, then ends what is left.
    pub(super) async fn finish(&self, grace: Duration) {
        for open in lock(&self.open).values() {
            open.progress.stop();
        }
        let deadline = tokio::time::Instant::now() + grace;
        while lock(&self.open).values().any(|open| open.progress.phase().0 != Phase::Lingering) {
            if tokio::time::Instant::now() >= deadline {
                tracing::warn!("some connections did not end in time and are cut off");
                break;
            }
            tokio::time::sleep(STOPPING_LOOK).await;
        }
        for open in lock(&self.open).values() {
            open.task.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A duration in ticks, rounded up.
fn ticks_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX)
}

/// Removes a connection from the list, however its task ends.
struct Leaving {
    connections: Arc<Connections>,
    number: u64,
    /// Given back after the connection has left the list.
    place: Place,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        lock(&self.connections.open).remove(&self.number);
        let mut origins = lock(&self.connections.origins);
        if let Entry::Occupied(mut count) = origins.entry(self.place.origin) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;
