//! What is served without a key, outside the API: health and documentation.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use bytes::Bytes;

use crate::app::App;
use crate::error::ApiError;
use crate::respond::WrittenJson;

/// Whether the server can work.
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
pub async fn docs(State(app): State<Arc<App>>) -> Html<Bytes> {
    Html(app.docs.clone())
}
