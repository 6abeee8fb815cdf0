//! Network access: [`Client`] is the only owner of HTTP clients, `pacing` computes when to send the next request, and [`Clock`] is the
//! clock of a run.

pub mod errors;
pub mod tls;

pub(crate) mod client;
pub(crate) mod clock;
pub(crate) mod pacing;

pub use client::{Client, ClientError};
pub use clock::Clock;
