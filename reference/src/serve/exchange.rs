//! One exchange on a connection: the body of the request, and the body of the response.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::{HeaderMap, header};
use hyper::body::{Frame, Incoming, SizeHint};

use super::connection::{Phase, Progress};

/// How long an unread body may be for the connection to be kept by reading it, if it has arrived already.
const MAX_DRAINED: u64 = 64 * 1024;

/// How often in succession a drained body may have nothing ready. Hyper fetches what it has only when asked, and
/// delivers it at the next turn.
const DRAIN_TURNS: u32 = 2;

/// The body of a request, which outlives the application's interest in it: what the application leaves unread
/// decides whether the connection can carry another request.
#[derive(Clone)]
pub(super) struct Upload(Arc<Mutex<State>>);

struct State {
    body: Incoming,
    /// Whether all of it was read.
    complete: bool,
    /// Whether what has arrived of it may be dropped: nobody has read of it, and nobody waits with it for a "100
    /// Continue" that reading would cause.
    droppable: bool,
}

impl Upload {
    pub(super) fn new(body: Incoming, headers: &HeaderMap) -> Self {
        let droppable = !headers.contains_key(header::EXPECT);
        Self(Arc::new(Mutex::new(State { body, complete: false, droppable })))
    }

    /// Whether the connection can carry another request: all of the body was read, or it is short and has arrived,
    /// and is dropped now.
    pub(super) async fn leaves_connection_usable(&self) -> bool {
        {
            let state = self.state();
            if state.complete {
                return true;
            }
            // A body that was left in the middle is too long, too slow or broken.
            if !state.droppable || state.body.size_hint().exact().is_none_or(|length| length > MAX_DRAINED) {
                return false;
            }
        }
        let mut turns = DRAIN_TURNS;
        std::future::poll_fn(|context| {
            loop {
                match self.state().poll_frame(context) {
                    Poll::Ready(Some(Ok(_))) => turns = DRAIN_TURNS,
                    Poll::Ready(None) => return Poll::Ready(true),
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                    Poll::Pending if turns == 0 => return Poll::Ready(false),
                    Poll::Pending => {
                        turns -= 1;
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
            }
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.complete {
            return Poll::Ready(None);
        }
        self.droppable = false;
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.complete = frame.is_none() || self.body.is_end_stream() && !matches!(frame, Some(Err(_)));
        Poll::Ready(frame)
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.state().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.state().complete
    }

    fn size_hint(&self) -> SizeHint {
        self.state().body.size_hint()
    }
}

/// The body of a response, which reports when hyper has all of it.
pub(super) struct Download {
    body: Body,
    progress: Arc<Progress>,
}

impl Download {
    /// The application has answered, and the client is to take it.
    pub(super) fn new(body: Body, progress: Arc<Progress>) -> Self {
        progress.enter(Phase::Sending);
        Self { body, progress }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.progress.enter(Phase::Flushing);
    }
}

impl HttpBody for Download {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
