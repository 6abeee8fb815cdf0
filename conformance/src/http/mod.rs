//! Network access: [`client`] is the only owner of HTTP clients, [`pacing`] computes when to send the next request, [`clock`] is
//! the clock of a run.

pub mod client;
pub mod clock;
pub mod pacing;
pub mod tls;

pub(crate) mod errors;
pub(crate) mod key_forms;
