//! The whole server as one tower service: the layers in order, and the handler of every route.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tower::ServiceBuilder;

use crate::access::AccessLog;
use crate::app::App;
use crate::error::ApiError;
use crate::gate::Gate;
use crate::routes::{DOCS, HEALTH, OPENAPI, ORDERS, PET, PETS, ROOT};
use crate::{orders, pets, unauthenticated};

/// The whole server, as one tower service.
pub type Entrance = AccessLog<Gate<Router>>;

/// Puts the whole server together.
#[must_use]
pub fn router(app: &Arc<App>) -> Entrance {
    layered(app, handlers(app))
}

/// What a request passes before it is routed. The layers stand around the router instead of in it
/// (`Router::layer`): there, each would cost every request an allocation, and would come after routing.
fn layered(app: &Arc<App>, handlers: Router) -> Entrance {
    ServiceBuilder::new()
        .layer_fn(|inner| AccessLog::new(Arc::clone(app), inner))
        .layer_fn(|inner| Gate::new(Arc::clone(app), inner))
        .service(handlers)
}

/// The handlers by route. Those of the API have their full paths, because nesting would cost an allocation too.
fn handlers(app: &Arc<App>) -> Router {
    let api = |path: &str| format!("{}{path}", app.base_path);
    let router = Router::new();
    // Where the API has no base path, all of it needs a key.
    let router = if app.base_path.is_empty() { router } else { router.route(ROOT, get(unauthenticated::root)) };
    router
        .route(&api(PETS), get(pets::list).post(pets::create))
        .route(&api(PET), get(pets::get))
        .route(&api(ORDERS), get(orders::list))
        .route(HEALTH, get(unauthenticated::health))
        .route(OPENAPI, get(unauthenticated::openapi))
        .route(DOCS, get(unauthenticated::docs))
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .fallback(|| async { ApiError::not_found("no such path") })
        .with_state(Arc::clone(app))
}

#[cfg(test)]
mod tests;
