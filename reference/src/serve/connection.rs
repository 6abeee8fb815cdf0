//! One connection: how its phases are timed, how it closes.
//!
//! Timing costs a request two atomic stores and no timer: a connection only notes in which phase it is
//! since when, and one task for all connections ends those that have been in a phase for too long.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// For the first byte of a request.
    Idle,
    /// For the rest of a request's head (or of a TLS handshake).
    Head,
    /// For the application, which keeps its own time.
    Busy,
    /// For the client to take the response.
    Sending,
    /// For the client to close after we have.
    Lingering,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Idle, Self::Head, Self::Busy, Self::Sending, Self::Lingering];
}

/// The server's coarse clock, in ticks of the watching task.
#[derive(Default)]
pub(super) struct Ticks(AtomicU64);

impl Ticks {
    pub(super) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn advance(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// What a connection tells the task that watches all of them.
pub(super) struct Progress {
    /// The phase in the lowest three bits, the tick of its beginning above them.
    state: AtomicU64,
    ticks: Arc<Ticks>,
    stopping: AtomicBool,
    stop: Notify,
}

impl Progress {
    pub(super) fn new(ticks: Arc<Ticks>) -> Self {
        let progress = Self { state: AtomicU64::new(0), ticks, stopping: AtomicBool::new(false), stop: Notify::new() };
        progress.enter(Phase::Head);
        progress
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.state.store(self.ticks.now() << 3 | phase as u64, Ordering::Relaxed);
    }

    /// The phase, and the tick in which it began.
    pub(super) fn phase(&self) -> (Phase, u64) {
        let state = self.state.load(Ordering::Relaxed);
        (Phase::ALL[(state & 7) as usize], state >> 3)
    }

    /// Asks the connection to end after the request in hand.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_one();
    }

    /// Drives a connection to its end; when asked to stop, `finish` is told once.
    pub(super) async fn drive<C: Future>(&self, connection: C, finish: impl Fn(Pin<&mut C>)) -> C::Output {
        let mut connection = std::pin::pin!(connection);
        let mut stop = std::pin::pin!(self.stop.notified());
        // Waiting once is enough to be woken, since all wakers of one task are alike: afterwards a look
        // at the flag replaces the wait.
        let mut registered = false;
        let mut told = false;
        std::future::poll_fn(move |context| {
            if !registered {
                registered = true;
                let _ = stop.as_mut().poll(context);
            }
            if !told && self.stopping.load(Ordering::Acquire) {
                told = true;
                finish(connection.as_mut());
            }
            connection.as_mut().poll(context)
        })
        .await
    }
}

/// A byte stream that notes its progress, and that closes without cutting off what the client still sends.
pub(super) struct Watched<S> {
    inner: TokioIo<S>,
    progress: Arc<Progress>,
    write_closed: bool,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, progress: Arc<Progress>) -> Self {
        Self { inner: TokioIo::new(stream), progress, write_closed: false }
    }
}

impl<S: AsyncRead + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if read.is_ready() && self.progress.phase().0 == Phase::Idle {
            self.progress.enter(Phase::Head);
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note_sending(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.note_sending(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        if flushed.is_ready() && self.progress.phase().0 == Phase::Sending {
            self.progress.enter(Phase::Idle);
        }
        flushed
    }

    /// Closing a socket with unread bytes resets the connection, and a reset can destroy a response that
    /// the client has not read yet: an early refusal of a long body would often get lost. So after the
    /// response, what the client still sends is read and dropped, until it closes or its time is up.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.write_closed {
            ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
            self.write_closed = true;
            self.progress.enter(Phase::Lingering);
        }
        let mut room = [0_u8; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut room);
            match ready!(Pin::new(self.inner.inner_mut()).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S> Watched<S> {
    /// Bytes that leave are progress of a slow client, as long as there are more to send.
    fn note_sending(&self, written: &Poll<io::Result<usize>>) {
        let (phase, since) = self.progress.phase();
        if written.is_ready() && phase == Phase::Sending && since != self.progress.ticks.now() {
            self.progress.enter(Phase::Sending);
        }
    }
}

#[cfg(test)]
mod tests;
