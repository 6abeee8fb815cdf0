//! The whole server as one tower service: the layers in order, and the handler of every route.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::routes::{HEALTH, OPENAPI, ORDERS, PET, PETS};
use crate::api::{middleware, orders, pets, unauthenticated};

/// Puts the whole server together.
pub fn router(app: &Arc<App>) -> Router {
    layered(app, handlers(app))
}

/// Adds the layers that every request passes before its handler, the outermost last.
fn layered(app: &Arc<App>, handlers: Router) -> Router {
    handlers
        .layer(from_fn_with_state(Arc::clone(app), middleware::gate))
        .layer(from_fn_with_state(Arc::clone(app), middleware::log))
}

/// The handlers by route. Routes of the API have their full paths, because nesting would cost an allocation for each request.
fn handlers(app: &Arc<App>) -> Router {
    let api = |path: &str| format!("{}{path}", app.base_path);
    Router::new()
        .route(&api(PETS), get(pets::list).post(pets::create))
        .route(&api(PET), get(pets::get))
        .route(&api(ORDERS), get(orders::list))
        .route(HEALTH, get(unauthenticated::health))
        .route(OPENAPI, get(unauthenticated::openapi))
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .fallback(|| async { ApiError::not_found("no such path") })
        .with_state(Arc::clone(app))
}

#[cfg(test)]
mod tests;
