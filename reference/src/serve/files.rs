//! How many connections the limit of open files allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are not connections: the database with its log and its shared state, once for each thread that reads;
/// the listener, the signals, standard streams; a connection that waits for its place; room for what is brief.
const RESERVED: u64 = 64;

/// How many connections there can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// As many as wanted.
    Enough,
    /// Fewer than wanted, because the limit of open files is as given.
    Fewer {
        /// How many connections there can be, at least 1.
        connections: usize,
        /// The limit of open files.
        limit: u64,
    },
    /// None at all: the limit of open files is as given.
    None {
        /// The limit of open files.
        limit: u64,
    },
}

/// Raises the limit of open files of this process, as far as it may, to what this many connections need.
#[must_use]
pub fn make_room(connections: usize) -> Capacity {
    let needed = RESERVED.saturating_add(connections as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(needed, |maximum| maximum.min(needed));
    if current.is_some_and(|current| current < wanted) {
        // What cannot be raised shows below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    capacity(getrlimit(Resource::Nofile).current, connections)
}

fn capacity(limit: Option<u64>, connections: usize) -> Capacity {
    let Some(limit) = limit else { return Capacity::Enough };
    match usize::try_from(limit.saturating_sub(RESERVED)).unwrap_or(usize::MAX) {
        0 => Capacity::None { limit },
        possible if possible < connections => Capacity::Fewer { connections: possible, limit },
        _ => Capacity::Enough,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_the_files_is_for_connections() {
        assert_eq!(capacity(None, 4096), Capacity::Enough);
        assert_eq!(capacity(Some(4160), 4096), Capacity::Enough);
        assert_eq!(capacity(Some(4159), 4096), Capacity::Fewer { connections: 4095, limit: 4159 });
        assert_eq!(capacity(Some(65), 4096), Capacity::Fewer { connections: 1, limit: 65 });
        assert_eq!(capacity(Some(64), 1), Capacity::None { limit: 64 });
        assert_eq!(capacity(Some(0), 1), Capacity::None { limit: 0 });
    }
}
