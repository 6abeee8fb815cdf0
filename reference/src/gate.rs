//! The gate of the API: no request gets in without a valid key and room in its rate limits, and no answer
//! gets out without the headers that tell the caller its quota.
//!
//! It decides before anything looks at what was asked. So a caller without a valid key learns nothing but
//! that, whatever else is wrong with the request, and a refused request has no effect.

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
use crate::extract::Moment;
use crate::rate_limit::{Decision, Quota};
use crate::{respond, router};

/// A service behind the gate. What lies beside the API passes untouched.
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
    type Future = Passage<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if !router::in_api(&self.app.base_path, request.uri().path()) {
            return Passage { way: Way::In { future: self.inner.call(request) }, quota: None };
        }
        let Moment(now) = Moment::noted(request.extensions(), &self.app);
        let (quota, admitted) = admit(&self.app, request.headers(), now);
        let way = match admitted {
            Ok(()) => Way::In { future: self.inner.call(request) },
            Err(error) => Way::Back { error },
        };
        Passage { way, quota: Some(quota) }
    }
}

/// Who is it, and may they? The quota is told in either case.
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
    /// The answer of [`Gate`], in the making.
    pub struct Passage<F> {
        #[pin]
        way: Way<F>,
        quota: Option<Quota>,
    }
}

pin_project! {
    #[project = WayProjection]
    enum Way<F> {
        In { #[pin] future: F },
        Back { error: ApiError },
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for Passage<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = match this.way.project() {
            WayProjection::In { future } => ready!(poll_guarded(future, context)),
            WayProjection::Back { error } => Ok(error.clone().into_response()),
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
