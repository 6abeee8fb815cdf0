//! Bodies that stream on while a bounded copy of them is kept.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::budget::{Budget, Reserved};
use super::failure::broken;
use animal_store_rules::trace::exchange::{Failure, MAX_BODY};

/// A copy of a body.
#[derive(Debug)]
pub(super) struct Copied {
    bytes: Vec<u8>,
    /// Whether the copy is the body to its end.
    is_whole: bool,
    /// Whether the body is longer than what is kept of one, or than there is memory for.
    is_dropped: bool,
    reserved: Reserved,
}

impl Copied {
    /// A copy of nothing yet.
    pub(super) fn new(budget: &Budget) -> Copied {
        Copied { bytes: Vec::new(), is_whole: false, is_dropped: false, reserved: budget.reserve() }
    }

    fn add(&mut self, data: &[u8]) {
        if self.is_dropped {
            return;
        }
        if self.bytes.len() + data.len() > MAX_BODY || !self.reserved.grow(data.len()) {
            self.is_dropped = true;
            self.bytes = Vec::new();
            self.reserved.release();
        } else {
            self.bytes.extend_from_slice(data);
        }
    }

    /// The body, if the copy is whole, and the memory that it takes.
    pub(super) fn into_parts(self) -> (Option<Vec<u8>>, Reserved) {
        ((self.is_whole && !self.is_dropped).then_some(self.bytes), self.reserved)
    }
}

/// How a body ended.
#[derive(Debug)]
pub(super) enum End {
    /// At its end.
    Whole,
    /// Whoever sends it broke off.
    Broken(Failure),
    /// Whoever receives it is gone.
    Unread,
}

/// What is done with the copy of a body once it has ended.
pub(super) type Finish = Box<dyn FnOnce(Copied, &End) + Send>;

/// A body that is copied as it streams on.
pub(super) struct Tee {
    /// None of an empty one.
    body: Option<Incoming>,
    copy: Option<(Copied, Finish)>,
}

impl Tee {
    /// Copies a body; `finish` gets the copy when the body has ended.
    pub(super) fn new(body: Incoming, copied: Copied, finish: Finish) -> Tee {
        let mut tee = Tee { body: Some(body), copy: Some((copied, finish)) };
        tee.finish_at_end();
        tee
    }

    /// Passes a body on without a copy.
    pub(super) fn uncopied(body: Incoming) -> Tee {
        Tee { body: Some(body), copy: None }
    }

    /// An empty body.
    pub(super) fn empty() -> Tee {
        Tee { body: None, copy: None }
    }

    /// A body of known length, or none, is not asked for more than it has.
    fn finish_at_end(&mut self) {
        if self.is_end_stream() {
            self.finish(&End::Whole);
        }
    }

    fn finish(&mut self, end: &End) {
        if let Some((mut copied, finish)) = self.copy.take() {
            copied.is_whole = matches!(end, End::Whole);
            finish(copied, end);
        }
    }
}

impl Body for Tee {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.finish(&End::Whole),
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(data), Some((copied, _))) = (frame.data_ref(), &mut self.copy) {
                    copied.add(data);
                }
                self.finish_at_end();
            }
            Poll::Ready(Some(Err(error))) => self.finish(&End::Broken(broken(error))),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        self.finish(&End::Unread);
    }
}

/// A copy that the end of another body asks for.
#[derive(Clone, Default)]
pub(super) struct Slot(Arc<Mutex<Option<Copied>>>);

impl Slot {
    /// Puts a copy into the slot once its body has ended.
    pub(super) fn fill(&self) -> Finish {
        let slot = self.clone();
        Box::new(move |copied, _| *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(copied))
    }

    /// The copy, if its body has ended.
    pub(super) fn take(&self) -> Option<Copied> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
