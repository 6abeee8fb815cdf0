//! The conformance judge for the Animal Store API: it accepts every lawful server and catches every other.
//!
//! ```text
//!  options ─▶ probes ──requests──▶ target
//!                │                    │
//!                └──── Exchange ◀─────┘        an exchange is a request, what came of it, and when
//!                         │
//!                       Trace ──▶ rules ──▶ verdicts ──▶ report ──▶ renderers
//! ```
//!
//! Probes decide which requests to send and judge nothing. Rules, in [`animal_store_rules`], are pure functions over the trace
//! and send nothing. So every exchange is judged by every rule that applies to it, which is what makes a run cheap enough
//! for a Free key.

pub mod cli;
pub mod container;
pub mod diff;
pub mod events;
pub mod explain;
pub mod http;
pub mod interrupt;
pub mod options;
pub mod probes;
pub mod redaction;
pub mod report;
pub mod run;

mod layout;

#[cfg(test)]
mod schema;

pub use animal_store_rules::catalogue::plan::Plan;
pub use animal_store_rules::catalogue::scope::Profile;
pub use animal_store_rules::verdict::Verdict;
pub use options::Options;
pub use report::Report;
pub use run::judge::{Judge, RunError};
