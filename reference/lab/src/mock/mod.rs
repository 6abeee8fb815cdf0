//! The parts that make a server a mock for the tests of clients, in addition to the laboratory: known animals, delayed responses,
//! CORS, and a listener by which a test controls it. Without these options, no part is in the path of a request.

pub mod animals;
pub mod clock;
pub mod control;
pub mod cors;
pub mod delay;
mod operation;
pub mod options;
pub mod record;

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;

use self::control::Listening;
use self::cors::Cors;
use self::delay::Delay;

/// The parts of a mock that stand around the whole server.
#[derive(Clone, Default)]
pub struct Mock {
    /// The delays of answers of the API.
    pub delay: Option<Arc<Delay>>,
    /// The pages that may read the answers.
    pub cors: Option<Cors>,
    /// The interface by which a test controls the server.
    pub control: Option<Arc<Listening>>,
}

impl Mock {
    /// Returns true if no part stands around the server.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.delay.is_none() && self.cors.is_none() && self.control.is_none()
    }

    /// Answers a request with the help of the server, to which `handle` hands it on.
    pub(crate) async fn answer<F, R>(&self, request: Request, in_api: bool, mut handle: F) -> Response
    where
        F: FnMut(Request) -> R,
        R: Future<Output = Response>,
    {
        // Outside the API, only the header fields for browsers are added.
        let (control, delay) = (self.control.as_ref().filter(|_| in_api), self.delay.as_ref().filter(|_| in_api));
        let answer = |request| {
            let prepared = control.and_then(|control| control.prepared(&request));
            let (exchange, request) = match control {
                None => (None, request),
                Some(control) => {
                    let (exchange, request) = control.recording().begin(request);
                    (Some(exchange), request)
                }
            };
            let (own, prepared, unread) = match prepared {
                None => (Some(handle(request)), None, None),
                Some(prepared) => (prepared.counted(&request).map(&mut handle), Some(prepared), Some(request)),
            };
            async move {
                let own = match own {
                    Some(own) => Some(own.await),
                    None => None,
                };
                let response = match (prepared, own) {
                    (Some(prepared), own) => prepared.given(own.map(|own| own.headers().clone())).await,
                    (None, own) => own.unwrap_or_default(),
                };
                // An unread body stays with the client until now.
                drop(unread);
                if let Some(time) = delay.and_then(|delay| delay.next()) {
                    tokio::time::sleep(time).await;
                }
                match exchange {
                    None => response,
                    Some(exchange) => exchange.answered(response),
                }
            }
        };
        match &self.cors {
            None => {
                let mut answer = answer;
                answer(request).await
            }
            Some(cors) => cors.answer(request, answer).await,
        }
    }
}
