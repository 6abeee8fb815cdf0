//! From a request to its response: the router, the layers that every request passes, the handlers, and their shared state.

pub mod app;
pub mod auth;
mod body_cache;
pub mod deprecation;
pub mod error;
pub mod extension;
pub mod extract;
pub mod keys;
pub mod middleware;
pub mod openapi;
pub mod orders;
pub mod pets;
pub mod query;
pub mod respond;
pub mod router;
pub mod routes;
pub mod unauthenticated;
