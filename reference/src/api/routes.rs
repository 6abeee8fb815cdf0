//! The routes of the server, their handlers, and the layer that every request passes before them.

use std::sync::Arc;

use axum::{Router, body::Bytes, middleware::from_fn_with_state, routing::get};

use crate::api::app::{App, HEALTH, OPENAPI};
use crate::api::respond::{ApiError, WrittenJson};
use crate::api::{handlers, middleware};

/// The path of the catalogue below the base path: list and create.
pub const PETS: &str = "/pets";
/// The path of one animal below the base path.
const PET: &str = "/pets/{petId}";
/// The path of the store orders below the base path.
pub const ORDERS: &str = "/store/orders";

/// The whole server as one tower service.
pub fn router(app: &Arc<App>) -> Router {
    routes(app).layer(from_fn_with_state(Arc::clone(app), middleware::layer))
}

/// The handlers by route. Routes of the API have their full paths, because nesting would cost an allocation for each request.
fn routes(app: &Arc<App>) -> Router {
    let api = |path: &str| format!("{}{path}", app.options.base_path);
    Router::new()
        .route(&api(PETS), get(handlers::list).post(handlers::create))
        .route(&api(PET), get(handlers::get))
        // The specification names this operation and nothing else about it, so there are no orders.
        .route(&api(ORDERS), get(|| async { WrittenJson(Bytes::from_static(b"[]")) }))
        .route(HEALTH, get(handlers::health))
        .route(OPENAPI, get(handlers::description))
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .fallback(|| async { ApiError::not_found("no such path") })
        .with_state(Arc::clone(app))
}

#[cfg(test)]
mod tests;
