//! The operations outside the API, which need no key: health and the interface description.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::respond::WrittenJson;

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

/// Serves the interface description.
pub async fn openapi(State(app): State<Arc<App>>) -> WrittenJson {
    WrittenJson(app.openapi.clone())
}
