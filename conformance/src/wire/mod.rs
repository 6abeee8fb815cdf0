//! Everything that touches the wire, and what is written down about it.
//!
//! [`client`] is the only owner of an HTTP client; [`exchange`] and [`trace`] are plain data that rules and renderers
//! read; [`json`] reads bodies without losing a digit; [`secret`] keeps keys out of everything that is shown; [`clock`] tells the
//! time of a run and lets it pass.

#[cfg(feature = "program")]
pub mod client;
#[cfg(feature = "program")]
pub mod clock;
pub mod exchange;
pub mod json;
#[cfg(feature = "program")]
pub mod pacing;
pub mod secret;
pub mod trace;

#[cfg(feature = "program")]
pub(crate) mod words;
