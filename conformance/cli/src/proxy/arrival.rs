//! The connections of clients: their numbers, the count of open ones, and the time of the latest bytes on each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use animal_store_rules::trace::knowledge::Carrier;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
    pub(super) fn watch<S>(&self, stream: S, traffic: Arc<Traffic>) -> Watched<S> {
        Watched { stream, traffic, arrived: Arc::clone(&self.arrived) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_used.load(Ordering::SeqCst) {
            self.connections.used.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// A stream that notes the time at which the latest bytes arrived.
pub(super) struct Watched<S> {
    stream: S,
    traffic: Arc<Traffic>,
    arrived: Arc<AtomicI64>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buf);
        if buf.filled().len() > before {
            self.arrived.store(self.traffic.now().as_microsecond(), Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
