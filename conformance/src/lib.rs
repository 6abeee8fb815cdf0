//! The conformance judge for the Animal Store API.
pub mod catalogue;
pub mod plan;
pub mod rules;
pub mod wire;
