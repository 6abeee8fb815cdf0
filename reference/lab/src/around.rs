//! The tower layer by which the laboratory stands around a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use animal_store_reference::app::{App, AppOptions};
use animal_store_reference::extension::{Answers, Extended, Extension, ExtensionError, Started};
use animal_store_reference::respond::{ApiError, http_date};
use animal_store_reference::{middleware, respond};
use axum::Router;
use axum::extract::Request as HttpRequest;
use axum::response::{IntoResponse, Response as HttpResponse};
use http::{HeaderMap, HeaderValue, header};
use tower::service_fn;

use crate::{ConnectionNumber, Lab, Variation};
use crate::{mock::Mock, running::passed_on};

/// The layer around a server: a variation, a mock, or both.
pub(crate) struct LabLayer {
    app: Arc<App>,
    lab: Arc<Lab>,
    mock: Mock,
    connections: AtomicU64,
}

impl LabLayer {
    /// The layer around the server of `app`. The mock stands around the variation.
    pub(crate) fn extended(app: Arc<App>, lab: Arc<Lab>, mock: Mock, notice: String) -> Extended {
        let layer = Arc::new(LabLayer { app, lab, mock, connections: AtomicU64::new(0) });
        Extended { around: Box::new(move |entrance| layer.around(entrance)), notice }
    }

    /// Makes the service of one connection around the reference.
    fn around(self: &Arc<Self>, entrance: Router) -> Answers {
        let connection = ConnectionNumber(self.connections.fetch_add(1, Ordering::Relaxed) + 1);
        let layer = Arc::clone(self);
        Answers::new(service_fn(move |mut request: HttpRequest| {
            let (layer, entrance) = (Arc::clone(&layer), entrance.clone());
            request.extensions_mut().insert(connection);
            async move { Ok(layer.answer(&entrance, request).await) }
        }))
    }

    async fn answer(&self, entrance: &Router, request: HttpRequest) -> HttpResponse {
        let in_api = self.app.serves(request.uri().path());
        self.mock.answer(request, in_api, |request| self.handle(entrance.clone(), request)).await
    }

    /// Answers a request by the variation, or by the reference if there is none.
    async fn handle(&self, entrance: Router, request: HttpRequest) -> HttpResponse {
        // Requests are numbered here, so that a test sees the same numbers after each reset.
        let number = self.mock.control.as_ref().map(|control| control.next_request());
        // The faults of a server that is controlled come and go.
        let mut response = if self.lab.is_plain() {
            passed_on(entrance, request).await
        } else {
            let headers = request.headers().clone();
            let answered = self.lab.answer(entrance, request).await;
            answered.unwrap_or_else(|error| self.refuse(error, &headers))
        };
        if let (Some(number), Some(shown)) = (number, response.headers_mut().get_mut("x-request-id")) {
            *shown = HeaderValue::from(number);
        }
        response
    }

    /// Refuses a request whose body did not arrive, as the reference does.
    fn refuse(&self, error: ApiError, headers: &HeaderMap) -> HttpResponse {
        let now = self.app.options.clock.now();
        let (quota, refusal) = middleware::admit(&self.app, headers, now);
        let mut response = refusal.unwrap_or(error).into_response();
        let headers = response.headers_mut();
        headers.insert(header::DATE, http_date(now));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        headers.insert("x-request-id", HeaderValue::from(self.app.next_request()));
        respond::write_quota(headers, quota);
        response
    }
}

/// A variation of a server inside another program. Its clock is the one of the server's options, also if the setting has a start
/// time, and it knows the server's first key from the start.
impl Extension for Variation {
    fn set_up(&mut self, options: &mut AppOptions) {
        self.setting.set_up(options);
    }

    async fn start(self, server: Started) -> Result<Extended, ExtensionError> {
        let lab = Lab::start(Arc::clone(&server.app), self).await?;
        lab.introduce(server.keys.first().map(|(_, key)| key));
        Ok(LabLayer::extended(server.app, Arc::new(lab), Mock::default(), String::new()))
    }
}
