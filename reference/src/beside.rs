//! What is served beside the API, to anybody: health and documentation.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;

use crate::app::App;
use crate::docs::Page;
use crate::error::ApiError;
use crate::respond::WrittenJson;

/// Whether the server can do its work.
///
/// # Errors
///
/// 5xx when the database does not answer.
pub async fn health(State(app): State<Arc<App>>) -> Result<WrittenJson, ApiError> {
    app.store.key_generation()?;
    Ok(WrittenJson(Bytes::from_static(b"{\"status\":\"ok\"}")))
}

/// The interface description.
pub async fn openapi(State(app): State<Arc<App>>) -> WrittenJson {
    WrittenJson(app.openapi.clone())
}

/// The interface description for people.
pub(crate) async fn docs(State(app): State<Arc<App>>) -> Page {
    Page(app.docs.clone())
}
