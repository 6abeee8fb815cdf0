//! Bodies that stream on while a bounded copy of them is kept.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::budget::{Budget, Reserved};
use animal_store_conformance::http::errors;
use animal_store_rules::trace::exchange::{Failure, FailureKind, MAX_BODY};

/// A copy of a body.
#[derive(Debug)]
pub(super) struct Copied {
    bytes: Vec<u8>,
    /// Whether the copy is the body to its end.
    is_whole: bool,
    /// Whether the body is longer than [`MAX_BODY`], or than the memory that is available.
    is_dropped: bool,
    reserved: Reserved,
}

impl Copied {
    /// An empty copy.
    pub(super) fn new(budget: &Budget) -> Copied {
        Copied { bytes: Vec::new(), is_whole: false, is_dropped: false, reserved: budget.reserve() }
    }

    fn add(&mut self, data: &[u8]) {
        if self.is_dropped {
            return;
        }
        let length = self.bytes.len() + data.len();
        // The capacity takes the memory, not the length: it is a power of two, and all of it is reserved.
        let capacity = self.bytes.capacity().max(length.next_power_of_two());
        if length > MAX_BODY || !self.reserved.grow(capacity - self.bytes.capacity()) {
            self.is_dropped = true;
            self.bytes = Vec::new();
            self.reserved.release();
        } else {
            self.bytes.reserve_exact(capacity - self.bytes.len());
            self.bytes.extend_from_slice(data);
        }
    }

    /// The body, if the copy is whole.
    pub(super) fn into_body(self) -> Option<Vec<u8>> {
        (self.is_whole && !self.is_dropped).then_some(self.bytes)
    }
}

/// The end of a body.
#[derive(Debug)]
pub(super) enum End {
    /// The body is complete.
    Whole,
    /// The sender broke the body off.
    Broken(Failure),
    /// The receiver is gone.
    Unread,
}

/// Takes the copy of a body once it has ended.
pub(super) type Finish = Box<dyn FnOnce(Copied, &End) + Send>;

/// A body that is copied as it streams on.
pub(super) struct Tee {
    /// The body, or `None` if it is empty.
    body: Option<Incoming>,
    copy: Option<(Copied, Finish)>,
    /// The progress of a request's body, if this is one.
    upload: Option<Upload>,
}

impl Tee {
    /// Copies a body; `finish` gets the copy when the body has ended.
    pub(super) fn new(body: Incoming, copied: Copied, finish: Finish) -> Tee {
        let mut tee = Tee { body: Some(body), copy: Some((copied, finish)), upload: None };
        tee.finish_at_end();
        tee
    }

    /// Copies the body of a request, and notes whether client or server has the turn.
    pub(super) fn upload(body: Incoming, copied: Copied, upload: &Upload) -> Tee {
        let mut tee = Tee::new(body, copied, upload.end());
        tee.upload = Some(upload.clone());
        tee
    }

    /// Passes a body on without a copy; without a body, it is an empty one.
    pub(super) fn uncopied(body: Option<Incoming>) -> Tee {
        Tee { body, copy: None, upload: None }
    }

    /// Finishes a body that has ended, because a body of known length is not polled beyond its end.
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
        if self.upload.as_ref().is_some_and(|upload| upload.is_held(context)) {
            return Poll::Pending;
        }
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if let Some(upload) = &self.upload {
            upload.turn(polled.is_ready());
        }
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.finish(&End::Whole),
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(data), Some((copied, _))) = (frame.data_ref(), &mut self.copy) {
                    copied.add(data);
                }
                self.finish_at_end();
            }
            Poll::Ready(Some(Err(error))) => self.finish(&End::Broken(failure(error, FailureKind::Broken))),
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

/// A reason why the server gave no response.
pub(super) fn failed(kind: FailureKind, detail: &str) -> Failure {
    Failure { kind, detail: detail.to_owned() }
}

/// The reason why the server gave no response: of this kind, unless the error shows another one.
pub(super) fn failure(error: &(dyn std::error::Error + 'static), kind: FailureKind) -> Failure {
    let (found, detail) = errors::of(error);
    Failure { kind: found.unwrap_or(kind), detail }
}

/// The body of a request while it is sent: its copy once it has ended, and the time since which the server has the turn.
#[derive(Clone)]
pub(super) struct Upload(Arc<Mutex<Progress>>);

#[derive(Default)]
struct Progress {
    copied: Option<Copied>,
    /// The time since which the server could go on, or `None` while the client is to send more.
    owed_since: Option<Instant>,
    /// Whether the client broke the body off, or sent no valid HTTP.
    is_broken: bool,
    /// Whether the body waits for an interim response of the server.
    is_held: bool,
    /// The task that waits for the body meanwhile.
    waker: Option<Waker>,
}

impl Upload {
    pub(super) fn new() -> Upload {
        Upload(Arc::new(Mutex::new(Progress { owed_since: Some(Instant::now()), ..Progress::default() })))
    }

    /// Holds the body back, or lets it go.
    pub(super) fn hold(&self, is_held: bool) {
        let mut progress = self.lock();
        progress.is_held = is_held;
        progress.waker.take().into_iter().for_each(Waker::wake);
    }

    /// Returns true if the body is held back. The task is woken when it is let go.
    fn is_held(&self, context: &Context<'_>) -> bool {
        let mut progress = self.lock();
        if progress.is_held {
            progress.waker = Some(context.waker().clone());
        }
        progress.is_held
    }

    /// Notes the end of the body.
    pub(super) fn end(&self) -> Finish {
        let upload = self.clone();
        Box::new(move |copied, end| {
            let mut progress = upload.lock();
            progress.copied = Some(copied);
            progress.is_broken = matches!(end, End::Broken(_));
            progress.owed_since = Some(Instant::now());
        })
    }

    /// The copy, if the body has ended.
    pub(super) fn take(&self) -> Option<Copied> {
        self.lock().copied.take()
    }

    /// Returns true if the client broke the body off.
    pub(super) fn is_broken(&self) -> bool {
        self.lock().is_broken
    }

    /// Returns when the server has had the turn for this long.
    pub(super) async fn is_late(&self, timeout: Duration) {
        loop {
            let owed_since = self.lock().owed_since;
            match owed_since.map(|since| timeout.saturating_sub(since.elapsed())) {
                Some(Duration::ZERO) => return,
                Some(left) => tokio::time::sleep(left).await,
                None => tokio::time::sleep(timeout).await,
            }
        }
    }

    /// Notes that there is data for the server, or that the client is to send more.
    fn turn(&self, is_servers: bool) {
        self.lock().owed_since = is_servers.then(Instant::now);
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        // Plain data, consistent at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
