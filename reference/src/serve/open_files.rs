//! The bound on the number of connections that the limit of open files sets.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of open files that are not connections: the database with its log and its shared state, once for each thread
/// that reads; the listener, the signals and standard streams; and files that are open briefly.
const RESERVED: u64 = 64;

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
