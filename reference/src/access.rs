//! What every request gets, valid or not: a number, the time it was received, a `Date` on its response, and
//! a line in the access log.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, Method, header};
use pin_project_lite::pin_project;
use tower::Service;

use crate::app::App;
use crate::clock::http_date;
use crate::extract::ReceivedAt;
use crate::routes;

/// A service with an access log.
#[derive(Clone)]
pub struct AccessLog<S> {
    app: Arc<App>,
    inner: S,
}

impl<S> AccessLog<S> {
    /// Logs the requests of `inner`.
    #[must_use]
    pub fn new(app: Arc<App>, inner: S) -> Self {
        Self { app, inner }
    }
}

impl<S> Service<Request> for AccessLog<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = AccessLogFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let now = self.app.clock.now();
        let entry = Entry {
            number: self.app.next_request(),
            now,
            route: routes::name(&self.app.base_path, request.uri().path()),
            timed: tracing::enabled!(target: "access", tracing::Level::DEBUG)
                .then(|| (Instant::now(), loggable(request.method()))),
        };
        request.extensions_mut().insert(ReceivedAt(now));
        AccessLogFuture { future: self.inner.call(request), entry }
    }
}

pin_project! {
    /// The response future of [`AccessLog`].
    pub struct AccessLogFuture<F> {
        #[pin]
        future: F,
        entry: Entry,
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for AccessLogFuture<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = ready!(this.future.poll(context));
        this.entry.close(&mut response);
        Poll::Ready(Ok(response))
    }
}

struct Entry {
    number: u64,
    now: u64,
    route: &'static str,
    /// When it began, and the method; `None` when there is no access log.
    timed: Option<(Instant, &'static str)>,
}

impl Entry {
    fn close(&self, response: &mut Response) {
        let (number, route, status) = (self.number, self.route, response.status());
        response.headers_mut().insert(header::DATE, http_date(self.now));
        if status.is_client_error() || status.is_server_error() {
            response.headers_mut().insert("x-request-id", HeaderValue::from(number));
        }
        if status.is_server_error() {
            tracing::error!(request = number, route, status = status.as_u16(), "a request failed");
        }
        if let Some((started, method)) = self.timed {
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::debug!(target: "access", request = number, method, route, status = status.as_u16(), micros);
        }
    }
}

/// A method may be any token, so only the known ones are logged.
fn loggable(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}
