//! Layers around the reference: each sees the requests before it does, and the answers after it.
//!
//! What they do to either is what makes a saboteur of the reference, or another lawful server. They stand here and not in the
//! server, so that the server holds nothing that breaks it.

use std::sync::Arc;
use std::time::Duration;

pub(crate) mod limiter;
mod request;
mod response;
mod server;

pub(crate) use request::Request;
pub(crate) use response::{Delivery, Response};
pub(crate) use server::{Host, ServerState, Setting};

type Before = dyn Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync;
type After = dyn Fn(&Request, &mut Response, &ServerState) + Send + Sync;

/// What happens to a request before the reference sees it, and to the answer afterwards.
#[derive(Clone, Default)]
pub(crate) struct Layer {
    before: Option<Arc<Before>>,
    takes: Duration,
    after: Option<Arc<After>>,
}

impl Layer {
    /// May change the request, or answer in the reference's place.
    pub(crate) fn before(
        mut self,
        change: impl Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync + 'static,
    ) -> Layer {
        self.before = Some(Arc::new(change));
        self
    }

    /// Takes so long over an answer, so that requests that are sent together are certain to be under way together.
    pub(crate) fn taking(mut self, time: Duration) -> Layer {
        self.takes = time;
        self
    }

    /// Changes the answer. The request is the one that came to this layer.
    pub(crate) fn after(
        mut self,
        change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static,
    ) -> Layer {
        self.after = Some(Arc::new(change));
        self
    }
}
