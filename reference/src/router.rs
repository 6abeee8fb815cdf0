//! Every route and every layer, in order.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tower::ServiceBuilder;

use crate::access::AccessLog;
use crate::app::App;
use crate::error::ApiError;
use crate::gate::Gate;
use crate::{beside, orders, pets};

const PETS: &str = "/pets";
const PET: &str = "/pets/{petId}";
const ORDERS: &str = "/store/orders";

const HEALTH: &str = "/healthz";
const OPENAPI: &str = "/openapi.json";
const DOCS: &str = "/docs";

/// The whole server, as one tower service.
pub type Entrance = AccessLog<Gate<Router>>;

/// Puts the whole server together.
#[must_use]
pub fn router(app: &Arc<App>) -> Entrance {
    layered(app, routes(app))
}

/// What a request passes before it is routed. The layers stand around the router instead of in it
/// (`Router::layer`): there, each would cost every request an allocation, and would come after routing.
fn layered(app: &Arc<App>, routes: Router) -> Entrance {
    ServiceBuilder::new()
        .layer_fn(|inner| AccessLog::new(Arc::clone(app), inner))
        .layer_fn(|inner| Gate::new(Arc::clone(app), inner))
        .service(routes)
}

/// The routes. Those of the API have their full paths, because nesting would cost an allocation too.
fn routes(app: &Arc<App>) -> Router {
    let api = |path: &str| format!("{}{path}", app.base_path);
    Router::new()
        .route(&api(PETS), get(pets::list).post(pets::create))
        .route(&api(PET), get(pets::get))
        .route(&api(ORDERS), get(orders::list))
        .route(HEALTH, get(beside::health))
        .route(OPENAPI, get(beside::openapi))
        .route(DOCS, get(beside::docs))
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .fallback(|| async { ApiError::not_found("nothing has this path") })
        .with_state(Arc::clone(app))
}

/// Whether a path belongs to the API, so that nobody gets there without a key.
pub(crate) fn in_api(base_path: &str, path: &str) -> bool {
    below(base_path, path).is_some() && ![HEALTH, OPENAPI, DOCS].contains(&path)
}

/// The name of a route in logs. Paths themselves are never logged: a key may have strayed into one.
pub(crate) fn name(base_path: &str, path: &str) -> &'static str {
    let is_page = |page: &&str| path == *page;
    let is_route = |route: &&str| match (below(base_path, path), route.split_once('{')) {
        (Some(rest), None) => rest == *route,
        (Some(rest), Some((start, _))) => {
            rest.strip_prefix(start).is_some_and(|segment| !segment.is_empty() && !segment.contains('/'))
        }
        (None, _) => false,
    };
    let page = [HEALTH, OPENAPI, DOCS].into_iter().find(is_page);
    page.or_else(|| [PETS, PET, ORDERS].into_iter().find(is_route)).unwrap_or("unknown")
}

/// What follows the base path: nothing, or a path.
fn below<'a>(base_path: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(base_path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
