//! A complete reference server for the Animal Store API.
//!
//! It is one lawful way to implement the specification, to compare other servers with and to develop
//! clients against. Run it as the `reference` program, or inside another program with [`Embedded`].
//!
//! The way of a request: [`serve`] accepts a connection and times it, [`router`] authenticates ([`auth`]),
//! counts ([`rate_limit`]) and dispatches to [`pets`] and [`orders`], which read and write through
//! [`store`]. Every refusal is an [`error::ApiError`], every response is built in [`respond`], every date
//! comes from [`clock`].

pub mod app;
pub mod auth;
mod body_cache;
pub mod cli;
pub mod clock;
mod commands;
pub mod config;
pub mod deprecation;
mod docs;
mod embedded;
pub mod error;
mod int64;
pub mod keys;
mod logging;
pub mod openapi;
pub mod orders;
pub mod pets;
pub mod plan;
pub mod query;
pub mod rate_limit;
pub mod respond;
pub mod router;
pub mod serve;
pub mod store;
pub mod wire;

pub use embedded::{Embedded, EmbeddedError, EmbeddedOptions};
pub use plan::{Limits, Plan};
