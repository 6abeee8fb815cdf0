//! The operations outside the API, which need no key: health and documentation.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::app::App;
use crate::api::docs::{Encrypted, Page};
use crate::api::error::ApiError;
use crate::api::respond::WrittenJson;
use crate::api::routes::DOCS;

/// Reports the health of the server: 200 if it can read and its last write succeeded, else 503 with the reason.
///
/// # Errors
///
/// 5xx when the database cannot be read.
pub async fn health(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    app.store.has_keys()?;
    let Some(failure) = app.store.failure() else {
        return Ok(WrittenJson(Bytes::from_static(b"{\"status\":\"ok\"}")).into_response());
    };
    let mut error = ApiError::unavailable("");
    error.message = format!("nothing can be stored: {failure}").into();
    Ok(error.into_response())
}

/// Serves the interface description as JSON.
pub async fn openapi(State(app): State<Arc<App>>) -> WrittenJson {
    WrittenJson(app.openapi.clone())
}

/// Serves the interface description as a page.
pub(crate) async fn docs(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    encrypted: Option<Extension<Encrypted>>,
) -> Page {
    app.docs.page(&headers, encrypted.is_some())
}

/// Redirects people who know only the address to the page.
pub(crate) async fn root() -> Redirect {
    Redirect::temporary(DOCS)
}
