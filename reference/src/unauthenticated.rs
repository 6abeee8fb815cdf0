//! What is served without a key, outside the API: health and documentation.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::app::App;
use crate::docs::{Encrypted, Page};
use crate::error::ApiError;
use crate::logging;
use crate::respond::WrittenJson;
use crate::routes::DOCS;

/// Whether the server can read and write: 200 if it can, else 503. Either body reports the last commit (`ok`,
/// `failed` or `none`, and its age), the size of the write-ahead log, and the log lines that were lost.
///
/// # Errors
///
/// 5xx when the database cannot be read.
pub async fn health(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    app.store.key_generation()?;
    let writing = app.store.writing();
    let (dropped, failed) = logging::lost_lines();
    let outcome = writing.last_commit.map_or("none", |commit| if commit.succeeded { "ok" } else { "failed" });
    let mut body = json!({
        "status": "ok",
        "writing": {
            "last_commit": outcome,
            "seconds_ago": writing.last_commit.map(|commit| commit.age.as_secs()),
            "log_bytes": writing.log_bytes
        },
        "log": { "dropped_lines": dropped, "failed_lines": failed }
    });
    let mut status = StatusCode::OK;
    if let Some(failure) = writing.failure {
        status = StatusCode::SERVICE_UNAVAILABLE;
        body["status"] = status.as_u16().into();
        body["code"] = "unavailable".into();
        body["message"] = format!("nothing can be stored: {failure}").into();
    }
    Ok((status, WrittenJson(body.to_string().into())).into_response())
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
