//! The three operations on animals (specification: "Endpoints").

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::extract::{PetId, ReceivedAt};
use crate::api::query::ListQuery;
use crate::api::respond::WrittenJson;
use crate::domain::wire::NewPet;
use crate::store::AnimalRow;

/// Lists animals, the newest first: there is no second page, so a new animal must be on the first.
///
/// # Errors
///
/// 400 for a bad query; 5xx when the store fails.
pub async fn list(State(app): State<Arc<App>>, query: ListQuery) -> Result<WrittenJson, ApiError> {
    let mut list = Vec::with_capacity(2048);
    list.push(b'[');
    app.store.newest(query.status, query.limit, |pet| {
        if list.len() > 1 {
            list.push(b',');
        }
        // Writing text to memory cannot fail.
        let _ = serde_json::to_writer(&mut list, &pet);
    })?;
    list.push(b']');
    Ok(WrittenJson(list.into()))
}

/// Fetches one animal: 404 if there is no such animal, 410 from the removal on, 5xx when the store fails. Every response before the
/// removal announces it.
pub async fn get(State(app): State<Arc<App>>, ReceivedAt(now): ReceivedAt, PetId(id): PetId) -> impl IntoResponse {
    let outcome = app.deprecation.check(now).and_then(|()| find(&app, id)).map(WrittenJson);
    (app.deprecation.headers(now), outcome)
}

fn find(app: &App, id: Option<i64>) -> Result<Bytes, ApiError> {
    let unknown = || ApiError::not_found("no animal has this identifier");
    let id = id.ok_or_else(unknown)?;
    let generation = app.bodies.generation();
    if let Some(body) = app.bodies.get(generation, id) {
        return Ok(body);
    }
    let body = app.store.animal(id, render)?.ok_or_else(unknown)?;
    app.bodies.put(generation, id, &body);
    Ok(body)
}

/// Adds an animal, and answers once it would survive a power cut.
///
/// # Errors
///
/// 400, 408, 413 or 415 for a body that cannot be used; 5xx when the store fails.
pub async fn create(State(app): State<Arc<App>>, pet: NewPet) -> Result<(StatusCode, WrittenJson), ApiError> {
    let (name, category_id, status) = (pet.name.clone(), pet.category_id, pet.status);
    let generation = app.bodies.generation();
    let id = app.store.create(pet).await?;
    let body = render(AnimalRow { id, name: &name, category_id, status });
    app.bodies.put(generation, id, &body);
    Ok((StatusCode::CREATED, WrittenJson(body)))
}

fn render(pet: AnimalRow<'_>) -> Bytes {
    let mut body = Vec::with_capacity(80 + pet.name.len());
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(&mut body, &pet);
    // Bodies are kept in the cache, so the unused capacity is given back.
    body.into_boxed_slice().into()
}
