//! Everything that touches the network: [`client`] is the only owner of an HTTP client, [`pacing`] says when the next request may be
//! sent, [`clock`] gives the time of a run and waits.

pub mod client;
pub mod clock;
pub mod pacing;

pub(crate) mod errors;
pub(crate) mod key_forms;
