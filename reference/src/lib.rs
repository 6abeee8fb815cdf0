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
//!   ([`auth`]) and counted, and its body is received. The handlers of the [`routes`] read and write through the store. Every refusal
//!   is an [`respond::ApiError`];
//! - `serve`: how a server is put together; sockets, TLS and hyper, which hand requests to the [`routes`]; and the order in which
//!   everything stops;
//! - [`cli`]: the program.
//!
//! Another program can put a layer around the server ([`extension`]) or embed it ([`Embedded`]).

mod api;
pub mod cli;
mod domain;
mod serve;
pub mod store;

pub use api::{app, auth, extension, keys, middleware, respond, respond::MAX_BODY, routes};
pub use cli::config;
pub use domain::{clock, plan::Limits, plan::Plan, rate_limit, wire};
pub use serve::embedded::{Embedded, EmbeddedOptions};
pub use serve::{StartError, listener::Address, tls};
