//! A complete reference server for the Animal Store API.
//!
//! It is one lawful way to implement the specification, to compare other servers with and to develop
//! clients against. Run it as the `reference` program, or inside another program with [`Embedded`].
//!
//! The path of a request: [`serve`] accepts a connection, and hyper hands its requests to the axum router that [`router`] sets up. In
//! [`middleware`], each gets a number and a line in the log, is authenticated ([`auth`]) and counted ([`rate_limit`]). Then the handlers in [`pets`] and [`orders`], given what
//! [`extract`] and [`query`] made of the request, read and write through [`store`]; [`unauthenticated`]
//! serves what needs no key. Every refusal is an [`error::ApiError`], every JSON response is built in [`respond`], every
//! date comes from [`clock`]. Another
//! program can put a layer around all this, or embed it: [`extension`] and [`Embedded`].

pub mod address;
pub mod app;
pub mod auth;
mod body_cache;
pub mod cli;
pub mod clock;
mod commands;
pub mod config;
pub mod deprecation;
pub mod docs;
mod embedded;
pub mod error;
pub mod extension;
pub mod extract;
mod int64;
pub mod keys;
mod list_body;
mod logging;
pub mod middleware;
pub mod openapi;
pub mod orders;
pub mod pets;
pub mod plan;
pub mod query;
pub mod rate_limit;
pub mod respond;
pub mod router;
pub mod routes;
pub mod serve;
pub mod store;
pub mod unauthenticated;
pub mod wire;

pub use embedded::{Embedded, EmbeddedError, EmbeddedOptions};
pub use plan::{Limits, Plan};
