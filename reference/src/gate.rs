//! The gate of the API: a request passes only with a valid key and within its rate limits, and every
//! response carries the rate-limit headers.
//!
//! It decides before anything else of the request is examined. So a caller without a valid key learns
//! nothing but that, whatever else is wrong with the request, and a refused request has no effect.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use pin_project_lite::pin_project;
use tower::Service;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::ReceivedAt;
use crate::rate_limit::{Decision, Quota};
use crate::{respond, routes};

/// A service behind the gate. Requests outside the API pass unchanged.
#[derive(Clone)]
pub struct Gate<S> {
    app: Arc<App>,
    inner: S,
}

impl<S> Gate<S> {
    /// Puts `inner` behind the gate.
    #[must_use]
    pub fn new(app: Arc<App>, inner: S) -> Self {
        Self { app, inner }
    }
}

impl<S> Service<Request> for Gate<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if !routes::in_api(&self.app.base_path, request.uri().path()) {
            return GateFuture { progress: Progress::Forwarded { future: self.inner.call(request) }, quota: None };
        }
        let ReceivedAt(now) = ReceivedAt::of(request.extensions(), &self.app);
        let (quota, admitted) = admit(&self.app, request.headers(), now);
        let progress = match admitted {
            Ok(()) => Progress::Forwarded { future: self.inner.call(request) },
            Err(error) => Progress::Refused { error },
        };
        GateFuture { progress, quota: Some(quota) }
    }
}

/// Authenticates and counts a request. There is a quota to report in either case.
fn admit(app: &App, headers: &HeaderMap, now: u64) -> (Quota, Result<(), ApiError>) {
    match app.keys.authenticate(headers).map(|key| key.decide(app.ban, now)) {
        Ok(Decision::Admitted(quota)) => (quota, Ok(())),
        Ok(Decision::Refused { quota, retry_after, banned }) => {
            (quota, Err(ApiError::too_many_requests(retry_after, banned)))
        }
        Err(error) => (Quota::anonymous(now), Err(ApiError::unauthorized(error))),
    }
}

pin_project! {
    /// The response future of [`Gate`].
    pub struct GateFuture<F> {
        #[pin]
        progress: Progress<F>,
        quota: Option<Quota>,
    }
}

pin_project! {
    #[project = ProgressProjection]
    enum Progress<F> {
        Forwarded { #[pin] future: F },
        Refused { error: ApiError },
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for GateFuture<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = match this.progress.project() {
            ProgressProjection::Forwarded { future } => ready!(poll_guarded(future, context)),
            ProgressProjection::Refused { error } => Ok(error.clone().into_response()),
        };
        if let Some(quota) = *this.quota {
            respond::write_quota(response.headers_mut(), quota);
        }
        Poll::Ready(Ok(response))
    }
}

/// Turns a panic into a 500, so that it ends one request and nothing else.
fn poll_guarded<F>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output>
where
    F: Future<Output = Result<Response, Infallible>>,
{
    // What requests share is behind locks that survive a panic of their holder.
    catch_unwind(AssertUnwindSafe(|| future.poll(context))).unwrap_or_else(|_panic| {
        tracing::error!("an operation panicked");
        Poll::Ready(Ok(ApiError::internal().into_response()))
    })
}
