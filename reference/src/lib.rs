//! A complete reference server for the Animal Store API.
//!
//! It is one lawful way to implement the specification, to compare other servers with and to develop
//! clients against. Run it as the `reference` program, or inside another program with [`Embedded`].
//!
//! The folders, from the bottom up; each uses only those before it:
//!
//! - `domain`: animals, plans, the limiter ([`rate_limit`]) and the [`clock`], without HTTP and storage;
//! - [`store`]: the only folder that uses SQLite;
//! - `api`: from a request to its response. In [`middleware`], each request gets a number and a line in the log, is authenticated
//!   ([`auth`]) and counted. [`extract`] and [`query`] read it for the handlers in [`pets`], [`orders`] and [`unauthenticated`],
//!   which read and write through the store. Every refusal is an [`error::ApiError`];
//! - [`serve`]: sockets, TLS and hyper, which hand requests to the [`router`], and the order in which everything stops;
//! - [`cli`]: the program.
//!
//! Another program can put a layer around the server ([`extension`]) or embed it ([`Embedded`]).

mod api;
pub mod cli;
mod domain;
pub mod serve;
pub mod store;

pub use api::{
    app, auth, deprecation, error, extension, extract, keys, middleware, openapi, orders, pets, query, respond, router,
    routes, unauthenticated,
};
pub use cli::config;
pub use domain::plan::{Limits, Plan};
pub use domain::{clock, plan, rate_limit, wire};
pub use serve::address;
pub use serve::embedded::{Embedded, EmbeddedError, EmbeddedOptions};
