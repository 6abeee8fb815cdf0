//! What makes a server a mock for the tests of clients, beside the laboratory: known animals, slow answers, browsers, and a
//! listener by which a test controls it. A server without any of it has nothing of this in its path.

pub mod animals;
pub mod cors;
pub mod delay;

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;

use self::cors::Cors;
use self::delay::Delay;

/// What stands around a whole server.
#[derive(Clone, Debug, Default)]
pub struct Mock {
    /// How long answers of the API take.
    pub delay: Option<Arc<Delay>>,
    /// Which pages may read the answers.
    pub cors: Option<Cors>,
}

impl Mock {
    /// Whether nothing stands around the server.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.delay.is_none() && self.cors.is_none()
    }

    /// Answers a request with the help of the server, to which `handle` hands it on.
    pub(crate) async fn answer<F, R>(&self, request: Request, in_api: bool, mut handle: F) -> Response
    where
        F: FnMut(Request) -> R,
        R: Future<Output = Response>,
    {
        let mut answer = |request| {
            let response = handle(request);
            async move {
                let response = response.await;
                if let Some(delay) = self.delay.as_ref().filter(|_| in_api) {
                    tokio::time::sleep(delay.next()).await;
                }
                response
            }
        };
        match &self.cors {
            None => answer(request).await,
            Some(cors) => cors.answer(request, answer).await,
        }
    }
}
