//! Interim responses (1xx) of the server on their way to the client. hyper reads them, but does not write them: they are written into the
//! stream of the client before its response begins.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use hyper::header::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::target;

/// The interim responses that are not written yet.
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

/// The stream of a client, into which interim responses are written. Request targets that the parser would refuse get stand-ins.
pub(super) struct WithInterim<S> {
    stream: S,
    interim: Interim,
}

impl<S: AsyncWrite + Unpin> WithInterim<S> {
    pub(super) fn new(stream: S, interim: Interim) -> WithInterim<S> {
        WithInterim { stream, interim }
    }

    fn poll_interim(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = self.interim.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
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

impl<S: AsyncRead + Unpin> AsyncRead for WithInterim<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.get_mut().stream).poll_read(context, buffer))?;
        if let Some(changed) = target::with_stand_ins(&buffer.filled()[before..])
            && changed.len() <= buffer.capacity() - before
        {
            buffer.set_filled(before);
            buffer.put_slice(&changed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithInterim<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_interim(context))?;
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_interim(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_interim(context))?;
        Pin::new(&mut this.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
