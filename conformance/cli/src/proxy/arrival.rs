//! The connections of clients: their numbers, the count of open ones, and the time of the latest bytes on each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use animal_store_rules::trace::knowledge::Carrier;
use jiff::Timestamp;
use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;

use super::traffic::Traffic;

/// Counts the connections of clients.
#[derive(Debug, Default)]
pub(super) struct Connections {
    opened: AtomicU64,
    /// The open connections that have carried a request. A pool may open a connection that it does not need.
    used: AtomicU32,
}

/// An open connection of a client. It is counted from its first request until this value is dropped.
#[derive(Debug)]
pub(super) struct Open {
    connections: Arc<Connections>,
    number: u64,
    is_used: AtomicBool,
    /// The time at which the latest bytes arrived, in microseconds of Unix time.
    arrived: Arc<AtomicI64>,
}

impl Connections {
    /// Numbers a connection that was accepted.
    pub(super) fn open(connections: &Arc<Connections>) -> Open {
        let number = connections.opened.fetch_add(1, Ordering::SeqCst) + 1;
        Open { connections: Arc::clone(connections), number, is_used: AtomicBool::new(false), arrived: Arc::default() }
    }

    /// The number of connections in use beside one.
    pub(super) fn others(&self) -> u32 {
        self.used.load(Ordering::SeqCst).saturating_sub(1)
    }
}

impl Open {
    /// The connection as it is when a request has arrived on it.
    pub(super) fn carrier(&self) -> Carrier {
        if !self.is_used.swap(true, Ordering::SeqCst) {
            self.connections.used.fetch_add(1, Ordering::SeqCst);
        }
        Carrier { connection: self.number, others: self.connections.others() }
    }

    /// The time at which the latest bytes arrived. If a client sends requests without waiting for responses, they arrive before the proxy
    /// reads them.
    pub(super) fn arrived(&self) -> Timestamp {
        Timestamp::from_microsecond(self.arrived.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// A stream that notes when bytes arrive.
    pub(super) fn watch<S: AsyncRead>(
        &self,
        stream: S,
        traffic: Arc<Traffic>,
    ) -> InspectReader<S, impl FnMut(&[u8]) + use<S>> {
        let arrived = Arc::clone(&self.arrived);
        InspectReader::new(stream, move |bytes: &[u8]| {
            // At its end, a stream gives none.
            if !bytes.is_empty() {
                arrived.store(traffic.now().as_microsecond(), Ordering::Relaxed);
            }
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_used.load(Ordering::SeqCst) {
            self.connections.used.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
