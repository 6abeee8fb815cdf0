//! The parts that make a server a mock for the tests of clients, in addition to the laboratory: known animals, delayed responses,
//! CORS, and a listener by which a test controls it. Without these options, no part is in the path of a request.

pub(crate) mod animals;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod cors;
pub(crate) mod delay;
mod operation;
pub(crate) mod record;

use std::sync::Arc;

use axum::{extract::Request, response::Response};
use tokio::task::JoinSet;

use self::{control::Control, cors::Cors, delay::Delay};

/// The parts of a mock that stand around the whole server.
#[derive(Default)]
pub(crate) struct Mock {
    /// The delays of answers of the API.
    pub(crate) delay: Arc<Delay>,
    /// The pages that may read the answers.
    pub(crate) cors: Option<Cors>,
    /// The interface by which a test controls the server.
    pub(crate) control: Option<Arc<Control>>,
    /// The task that serves the control. It ends with this value.
    pub(crate) listening: JoinSet<()>,
}

impl Mock {
    /// Answers a request with the help of the server, to which `handle` hands it on.
    pub(crate) async fn answer<R: Future<Output = Response>>(
        &self,
        request: Request,
        in_api: bool,
        handle: impl Fn(Request) -> R,
    ) -> Response {
        let answer = |request| self.answer_without_cors(request, in_api, &handle);
        match &self.cors {
            None => answer(request).await,
            Some(cors) => cors.answer(request, answer).await,
        }
    }

    /// Answers a request without the header fields for browsers. Requests outside the API go to the server alone.
    async fn answer_without_cors<R: Future<Output = Response>>(
        &self,
        mut request: Request,
        in_api: bool,
        handle: &impl Fn(Request) -> R,
    ) -> Response {
        if !in_api {
            return handle(request).await;
        }
        let prepared = self.control.as_ref().and_then(|control| control.prepared(&request));
        let exchange = self.control.as_ref().map(|control| control.recording.begin(&mut request));
        let response = match prepared {
            None => handle(request).await,
            Some(prepared) => {
                let counted = prepared.counted(&request);
                let response = prepared.given(counted, handle).await;
                // An unread body stays with the client until now.
                drop(request);
                response
            }
        };
        if let Some(time) = self.delay.next() {
            tokio::time::sleep(time).await;
        }
        match exchange {
            None => response,
            Some(exchange) => exchange.answered(response),
        }
    }
}
