//! The rules of the Animal Store API: what the specification requires, judged from recorded exchanges.
//!
//! ```text
//!  Trace ──▶ History ──▶ limits ──▶ rules ──▶ verdicts
//! ```
//!
//! Everything here is a pure function over a [`trace::Trace`]: nothing sends, sleeps, or reads a clock, a file or the
//! environment. So the rules judge recorded traffic as well as that of a run, and are tested without a network.

pub mod catalogue;
pub mod facts;
pub mod fleet;
pub mod history;
pub mod limits;
pub mod observers;
pub mod request;
pub mod rules;
pub mod secrets;
pub mod tolerance;
pub mod toml_error;
pub mod trace;
pub mod transcript;
pub mod verdict;

#[cfg(test)]
mod trace_builder;
