//! What is served without a key, outside the API: health and documentation.

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

/// Whether the server can read and write: 200 if it can as far as is known, else 503 with the reason.
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

/// The interface description.
pub async fn openapi(State(app): State<Arc<App>>) -> WrittenJson {
    WrittenJson(app.openapi.clone())
}

/// The interface description for people.
pub(crate) async fn docs(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    encrypted: Option<Extension<Encrypted>>,
) -> Page {
    app.docs.page(&headers, encrypted.is_some())
}

/// Leads people who only know the address to what there is.
pub(crate) async fn root() -> Redirect {
    Redirect::temporary(DOCS)
}
