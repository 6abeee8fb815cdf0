//! The streams to client and server. Interim responses (1xx) of the server are written into the stream of the client before its response
//! begins: hyper reads them, but does not write them. Request targets that the parser would refuse have stand-ins between the two.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use hyper::header::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::target;

/// The bytes that are written into a stream before anything else, such as interim responses.
#[derive(Clone, Debug, Default)]
pub(super) struct Interim(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    bytes: Mutex<Vec<u8>>,
    added: Notify,
}

impl Interim {
    /// Adds an interim response.
    pub(super) fn add(&self, status: StatusCode, headers: &HeaderMap) {
        let mut bytes = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend(format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or("")).bytes());
        for (name, value) in headers {
            bytes.extend(name.as_str().bytes().chain(*b": "));
            bytes.extend(value.as_bytes());
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"\r\n");
        self.0.added.notify_one();
    }

    /// Returns when an interim response was added. The task that awaits this writes it, because it serves the connection.
    pub(super) async fn added(&self) {
        self.0.added.notified().await;
    }
}

/// The stream of a client, or to the server.
pub(super) struct Rewritten<S> {
    stream: S,
    first: Interim,
    /// Whether stand-ins are replaced in what is written, instead of being put into what is read.
    is_to_server: bool,
}

impl<S: AsyncWrite + Unpin> Rewritten<S> {
    /// The stream of a client, into which interim responses are written.
    pub(super) fn of_client(stream: S, interim: Interim) -> Rewritten<S> {
        Rewritten { stream, first: interim, is_to_server: false }
    }

    /// The stream to the server.
    pub(super) fn to_server(stream: S) -> Rewritten<S> {
        Rewritten { stream, first: Interim::default(), is_to_server: true }
    }

    fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = self.first.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while !bytes.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            bytes.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewritten<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        if !this.is_to_server
            && let Some(changed) = target::with_stand_ins(&buffer.filled()[before..])
            && changed.len() <= buffer.capacity() - before
        {
            buffer.set_filled(before);
            buffer.put_slice(&changed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewritten<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_first(context))?;
        let Some(restored) = this.is_to_server.then(|| target::restored(bytes)).flatten() else {
            return Pin::new(&mut this.stream).poll_write(context, bytes);
        };
        this.first.0.bytes.lock().unwrap_or_else(PoisonError::into_inner).extend(restored);
        // The bytes that are not written now are written before anything else.
        if let Poll::Ready(Err(error)) = this.poll_first(context) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_first(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_first(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_first(context))?;
        Pin::new(&mut this.stream).poll_write_vectored(context, slices)
    }

    /// Without vectored writes, hyper copies each body into a buffer of the connection. To the server, the head must come in one piece.
    fn is_write_vectored(&self) -> bool {
        !self.is_to_server && self.stream.is_write_vectored()
    }
}
