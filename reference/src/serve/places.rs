//! The bounds on the number of connections: in total, for one address, and by the limit of open files.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServeOptions;

/// The number of open files that are not connections: the database with its log and its shared state, once for each thread
/// that reads; the listener, the signals and standard streams; and files that are open briefly.
const RESERVED: u64 = 64;

/// The places for connections.
pub(super) struct Places {
    all: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most_of_one: usize,
}

/// A place for one connection, given back when dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    origin: Option<IpAddr>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Places {
    pub(super) fn new(options: &ServeOptions) -> Self {
        let all = Arc::new(Semaphore::new(options.max_connections));
        Self { all, taken: Arc::default(), most_of_one: options.max_connections_per_address }
    }

    /// Waits until one more connection may be accepted. `None` does not happen: the semaphore is never closed.
    pub(super) async fn free(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).acquire_owned().await.ok()
    }

    /// The place of a connection from `peer`. `None` if its address has as many as it may have. Clients of a Unix socket have no
    /// address and are not bounded: often they are one proxy that serves many clients.
    pub(super) fn take(&self, permit: OwnedSemaphorePermit, peer: Option<IpAddr>) -> Option<Place> {
        let origin = peer.map(origin);
        if let Some(origin) = origin {
            let mut taken = lock(&self.taken);
            let count = taken.entry(origin).or_default();
            if *count >= self.most_of_one {
                return None;
            }
            *count += 1;
        }
        Some(Place { _permit: permit, origin, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(origin) = self.origin else { return };
        let mut taken = lock(&self.taken);
        let count = taken.entry(origin).or_default();
        *count -= 1;
        if *count == 0 {
            taken.remove(&origin);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address that connections are counted by: an IPv4 address, or the /64 network that one IPv6 client usually has to itself.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Raises the limit of open files of this process to the number that this many connections need, as far as the system allows.
/// Returns the number of connections that are possible, and the limit, if there is one.
#[must_use]
pub fn make_room(connections: usize) -> (usize, Option<u64>) {
    let needed = RESERVED.saturating_add(connections as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(needed, |maximum| maximum.min(needed));
    if current.is_some_and(|current| current < wanted) {
        // A limit that cannot be raised shows below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    let limit = getrlimit(Resource::Nofile).current;
    let possible = limit.map_or(u64::MAX, |limit| limit.saturating_sub(RESERVED));
    (usize::try_from(possible).unwrap_or(usize::MAX).min(connections), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_has_no_more_places_than_its_bound_and_a_place_is_given_back() {
        let options = ServeOptions { max_connections_per_address: 2, ..ServeOptions::default() };
        let places = Places::new(&options);
        let take = async |peer: Option<&str>| {
            let peer = peer.map(|peer| peer.parse().expect("an address"));
            places.take(places.free().await.expect("a permit"), peer)
        };
        let (first, second) = (take(Some("192.0.2.1")).await, take(Some("::ffff:192.0.2.1")).await);
        assert!(first.is_some() && second.is_some() && take(Some("192.0.2.1")).await.is_none());
        assert!(take(Some("192.0.2.2")).await.is_some());
        drop(first);
        assert!(take(Some("192.0.2.1")).await.is_some());
        let networks = [take(Some("2001:db8::1")).await, take(Some("2001:db8::2")).await];
        assert!(take(Some("2001:db8::3")).await.is_none(), "one client of IPv6 is one network");
        assert!(take(Some("2001:db8:0:1::3")).await.is_some());
        let local = [take(None).await, take(None).await, take(None).await];
        assert!(local.iter().chain(&networks).all(Option::is_some));
    }
}
