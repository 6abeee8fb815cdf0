//! One connection: how its phases are timed, how it closes, and what it answers to what is not HTTP.
//!
//! Timing costs a request two atomic stores and no timer: a connection only notes in which phase it is
//! since when, and one task for all connections ends those that have been in a phase for too long.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::StatusCode;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// For the first byte of a request after another one.
    Idle,
    /// For the first request, for the rest of a request's head, or for a TLS handshake.
    Head,
    /// For the application, which keeps its own time.
    Busy,
    /// For the client to take the response, of which more is to come.
    Sending,
    /// For the client to take the last of the response.
    Flushing,
    /// For the client to close after we have.
    Lingering,
}

impl Phase {
    const ALL: [Self; 6] = [Self::Idle, Self::Head, Self::Busy, Self::Sending, Self::Flushing, Self::Lingering];
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

/// What a connection reports to the task that watches all of them.
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

    /// Asks the connection to end after the request in progress.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_one();
    }

    /// Drives a connection to its end; when asked to stop, `finish` is called once.
    pub(super) async fn drive<C: Future>(&self, connection: C, finish: impl Fn(Pin<&mut C>)) -> C::Output {
        let mut connection = std::pin::pin!(connection);
        let mut stop = std::pin::pin!(self.stop.notified());
        // Waiting once is enough to be woken, since all wakers of one task are alike: afterwards a look
        // at the flag replaces the wait.
        let mut registered = false;
        let mut finishing = false;
        std::future::poll_fn(move |context| {
            if !registered {
                registered = true;
                let _ = stop.as_mut().poll(context);
            }
            if !finishing && self.stopping.load(Ordering::Acquire) {
                finishing = true;
                finish(connection.as_mut());
            }
            connection.as_mut().poll(context)
        })
        .await
    }
}

/// How much of a request line has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestLine {
    Nothing,
    Begun { head_method: bool },
    Complete { head_method: bool },
}

/// A byte stream that notes its progress, that closes without cutting off what the client still sends, and that
/// words the answer to what is not HTTP.
///
/// What hyper cannot read as a request it answers by itself, with a status, no body and the date of the machine
/// (`Http1Transaction::on_error`), and nothing can be hooked in there. But those are the only bytes that it ever
/// writes while no request is in progress, so they are recognised by that, and `refusal` is sent in their place.
pub(super) struct Watched<S, F> {
    inner: TokioIo<S>,
    progress: Arc<Progress>,
    write_closed: bool,
    line: RequestLine,
    /// Makes the response with a status; without its content if the flag says that the method was HEAD.
    refusal: F,
    /// What is still to be sent of a refusal.
    refusing: Bytes,
}

impl<S, F> Watched<S, F> {
    pub(super) fn new(stream: S, progress: Arc<Progress>, refusal: F) -> Self {
        let inner = TokioIo::new(stream);
        Self { inner, progress, write_closed: false, line: RequestLine::Nothing, refusal, refusing: Bytes::new() }
    }

    fn note_read(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.progress.phase().0 == Phase::Idle {
            self.progress.enter(Phase::Head);
        }
        // Empty lines before a request are skipped (RFC 9112 section 2.2).
        let blank = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let (head_method, rest) = match self.line {
            RequestLine::Nothing => {
                let start = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
                match method(&bytes[start..]) {
                    Some(method) => (method == b"HEAD", &bytes[start..]),
                    // These bytes continue a request that began together with the one before.
                    None if start < bytes.len() => {
                        self.line = RequestLine::Complete { head_method: false };
                        return;
                    }
                    None => return,
                }
            }
            RequestLine::Begun { head_method } | RequestLine::Complete { head_method } => (head_method, bytes),
        };
        self.line = if rest.contains(&b'\n') {
            RequestLine::Complete { head_method }
        } else {
            RequestLine::Begun { head_method }
        };
    }
}

/// The method, if a request line begins with these bytes.
fn method(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().take(32).position(|byte| *byte == b' ')?;
    Some(&bytes[..end]).filter(|method| !method.is_empty() && method.iter().all(u8::is_ascii_uppercase))
}

impl<S: AsyncRead + Unpin, F: Unpin> Read for Watched<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if matches!(self.line, RequestLine::Complete { .. }) {
            return Pin::new(&mut self.inner).poll_read(context, buffer);
        }
        // Room for most heads; what does not fit is read without this detour.
        let mut room = [0_u8; 1024];
        let size = room.len().min(buffer.remaining());
        let mut read = ReadBuf::new(&mut room[..size]);
        ready!(Pin::new(self.inner.inner_mut()).poll_read(context, &mut read))?;
        self.note_read(read.filled());
        buffer.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, F: Fn(StatusCode, bool) -> Bytes + Unpin> Write for Watched<S, F> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_without_request() {
            self.refuse(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note_sending(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_without_request() {
            self.refuse(parts.first().map_or(&[], |part| part));
            return Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()));
        }
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.note_sending(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.refusing.has_remaining() {
            let written = Pin::new(&mut this.inner).poll_write(context, &this.refusing);
            this.note_sending(&written);
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => this.refusing.advance(count),
            }
        }
        let flushed = Pin::new(&mut this.inner).poll_flush(context);
        if flushed.is_ready() && this.progress.phase().0 == Phase::Flushing {
            this.progress.enter(Phase::Idle);
            this.line = RequestLine::Nothing;
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

impl<S: AsyncRead + AsyncWrite + Unpin, F: Fn(StatusCode, bool) -> Bytes + Unpin> Watched<S, F> {
    /// Refuses what the client has sent, and closes.
    pub(super) async fn refuse_and_close(mut self) -> io::Result<()> {
        self.refuse(&[]);
        std::future::poll_fn(|context| Pin::new(&mut self).poll_flush(context)).await?;
        std::future::poll_fn(|context| Pin::new(&mut self).poll_shutdown(context)).await
    }
}

impl<S, F: Fn(StatusCode, bool) -> Bytes> Watched<S, F> {
    fn is_without_request(&self) -> bool {
        matches!(self.progress.phase().0, Phase::Idle | Phase::Head)
    }

    /// Prepares the refusal that takes the place of a response of hyper's own.
    fn refuse(&mut self, automatic: &[u8]) {
        let status = automatic.get(9..12).and_then(|code| StatusCode::from_bytes(code).ok());
        let status = match (status.unwrap_or(StatusCode::BAD_REQUEST), self.line) {
            // To hyper any head that outgrows its buffer is 431, also one that is all target (RFC 9112 section 3).
            (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, RequestLine::Begun { .. }) => StatusCode::URI_TOO_LONG,
            (status, _) => status,
        };
        let without_content = match self.line {
            RequestLine::Nothing => false,
            RequestLine::Begun { head_method } | RequestLine::Complete { head_method } => head_method,
        };
        self.refusing = (self.refusal)(status, without_content);
        self.progress.enter(Phase::Flushing);
    }

    /// Bytes that leave are progress of a slow client, as long as there are more to send.
    fn note_sending(&self, written: &Poll<io::Result<usize>>) {
        let (phase, since) = self.progress.phase();
        if written.is_ready() && matches!(phase, Phase::Sending | Phase::Flushing) && since != self.progress.ticks.now()
        {
            self.progress.enter(phase);
        }
    }
}

#[cfg(test)]
mod tests;
