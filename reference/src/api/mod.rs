//! From a request to its response: the layers that every request passes, the handlers, and their shared state.

pub mod app;
pub mod auth;
mod body_cache;
pub mod extension;
mod handlers;
pub(crate) mod input;
pub mod keys;
pub mod middleware;
pub(crate) mod openapi;
pub mod respond;
pub mod routes;
