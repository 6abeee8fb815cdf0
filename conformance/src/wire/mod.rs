//! Everything that touches the wire, and what is written down about it.
//!
//! [`client`] is the only owner of an HTTP client; [`exchange`] and [`trace`] are plain data that rules and renderers
//! read; [`json`] reads bodies without losing a digit; [`secret`] keeps keys out of everything that is shown.

pub mod client;
pub mod exchange;
pub mod json;
pub mod pacing;
pub mod secret;
pub mod trace;
