//! A layer around the reference: it sees the requests before the reference does, and the responses after it.

use std::{fmt, sync::Arc, time::Duration};

use super::{Request, Response, ServerState};
use crate::rate::Draw;

type Before = dyn Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync;
type After = dyn Fn(&Request, &mut Response, &ServerState) + Send + Sync;

/// Selects requests.
pub(crate) trait Selects: Fn(&Request) -> bool + Send + Sync + 'static {}
impl<F: Fn(&Request) -> bool + Send + Sync + 'static> Selects for F {}

/// Selects responses.
pub(crate) trait Picks: Fn(&Request, &Response, &ServerState) -> bool + Send + Sync + 'static {}
impl<F: Fn(&Request, &Response, &ServerState) -> bool + Send + Sync + 'static> Picks for F {}

/// Changes responses.
pub(crate) trait Changes: Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static {}
impl<F: Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static> Changes for F {}

/// Changes a request before the reference sees it, and the response afterwards.
///
/// A layer has no state of its own, since several servers can share it: its memory is in the [`ServerState`], by
/// [`ServerState::own`].
#[derive(Clone, Default)]
pub struct Layer {
    pub(super) before: Option<Arc<Before>>,
    pub(super) takes: Duration,
    pub(super) after: Option<Arc<After>>,
    /// Whether the layer stands around all layers that are not outermost.
    pub(super) outermost: bool,
    /// The requests that the layer sees, if not all.
    pub(super) draw: Option<Draw>,
    /// The number of the part of the server, such as a fault, whose layers share a memory.
    pub(super) owner: usize,
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("outermost", &self.outermost).field("draw", &self.draw).finish_non_exhaustive()
    }
}

impl Layer {
    /// Adds a function that may change the request, or answer in place of the reference.
    #[must_use]
    pub fn before(
        mut self,
        change: impl Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync + 'static,
    ) -> Layer {
        self.before = Some(Arc::new(change));
        self
    }

    /// Delays each response by this time of the machine's clock, so that requests that are sent together are certain to be
    /// concurrent.
    pub(crate) fn taking(mut self, time: Duration) -> Layer {
        self.takes = time;
        self
    }

    /// Adds a function that changes the response. It gets the request as it came to this layer.
    #[must_use]
    pub fn after(mut self, change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static) -> Layer {
        self.after = Some(Arc::new(change));
        self
    }

    /// Adds a function that changes some responses.
    pub(crate) fn sends(self, which: impl Picks, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Layer {
        self.after(move |request, response, server| {
            if which(request, response, server) {
                change(response);
            }
        })
    }
}
