//! The handlers: the operations on animals and store orders (specification: "Endpoints"), health and the interface description.
//!
//! `GET /pets/{petId}` ends (specification: "Versioning"). Every response of it before its removal announces the day (`Sunset`, RFC 8594)
//! and the successor (`Link`). The specification does not say since when the operation is deprecated, so no `Deprecation` header (RFC
//! 9745) is sent: it would need an invented date.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::{Extension, body::Bytes, extract::rejection::PathRejection, response::IntoResponse};

use crate::api::input::{ReceivedBody, integer, list_query, new_pet};
use crate::api::respond::{ApiError, WrittenJson, http_date};
use crate::api::{app::App, middleware::ReceivedAt, openapi};
use crate::store::AnimalRow;

/// 2030-12-05T00:00:00Z, the first second without `GET /pets/{petId}`, as a Unix time.
pub(crate) const REMOVAL: u64 = 1_922_659_200;

const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Lists animals, the newest first: there is no second page, so a new animal must be on the first. 400 for a bad query.
pub(crate) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<WrittenJson, ApiError> {
    let (limit, status) = list_query(&uri)?;
    let mut list = Vec::with_capacity(2048);
    list.push(b'[');
    app.store.newest(status, limit, |pet| {
        if list.len() > 1 {
            list.push(b',');
        }
        // Writing text to memory cannot fail.
        let _ = serde_json::to_writer(&mut list, &pet);
    })?;
    list.push(b']');
    Ok(WrittenJson(list.into()))
}

/// Fetches one animal: 404 if there is no such animal, 410 from the removal on. An identifier that is no int64 is not malformed: no
/// animal has it.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Extension(ReceivedAt(now)): Extension<ReceivedAt>,
    id: Result<Path<String>, PathRejection>,
) -> impl IntoResponse {
    let is_removed = now >= REMOVAL;
    let outcome = if is_removed {
        let message = "this operation was removed: list animals by status instead; see Link";
        Err(ApiError::new(StatusCode::GONE, "gone", message))
    } else {
        find(&app, id.ok().and_then(|Path(id)| integer(&id))).map(WrittenJson)
    };
    let sunset = (!is_removed).then_some([(SUNSET, http_date(REMOVAL))]);
    (sunset, [(header::LINK, app.successor.clone())], outcome)
}

fn find(app: &App, id: Option<i64>) -> Result<Bytes, ApiError> {
    let unknown = || ApiError::not_found("no animal has this identifier");
    let id = id.ok_or_else(unknown)?;
    app.bodies.get_or_insert_with(&id, || app.store.animal(id, render)?.ok_or_else(unknown))
}

/// Adds an animal, and answers once it would survive a power cut. 400, 408, 413 or 415 for a body that cannot be used.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Extension(body): Extension<ReceivedBody>,
) -> Result<(StatusCode, WrittenJson), ApiError> {
    let pet = new_pet(&headers, body)?;
    let (name, category_id, status) = (pet.name.clone(), pet.category_id, pet.status);
    let id = app.store.create(pet).await?;
    Ok((StatusCode::CREATED, WrittenJson(render(AnimalRow { id, name: &name, category_id, status }))))
}

fn render(pet: AnimalRow<'_>) -> Bytes {
    let mut body = Vec::with_capacity(80 + pet.name.len());
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(&mut body, &pet);
    // Bodies are kept in the cache, so the unused capacity is given back.
    body.into_boxed_slice().into()
}

/// Reports the health of the server: 200 if it can read and its last write succeeded, else 503 with the reason.
pub(crate) async fn health(State(app): State<Arc<App>>) -> Result<WrittenJson, ApiError> {
    app.store.has_keys()?;
    match app.store.writer.failure() {
        None => Ok(WrittenJson(Bytes::from_static(b"{\"status\":\"ok\"}"))),
        Some(failure) => Err(ApiError::unavailable(format!("nothing can be stored: {failure}"))),
    }
}

/// Serves the interface description.
pub(crate) async fn description(State(app): State<Arc<App>>) -> WrittenJson {
    WrittenJson(openapi::text(&app.options.base_path).into())
}
