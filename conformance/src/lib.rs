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
//! Probes decide which requests to send and judge nothing. Rules are pure functions over the trace and send nothing. So
//! every exchange is judged by every rule that applies to it, which is what makes a run cheap enough for a Free key.

pub mod catalogue;
pub mod cli;
pub mod explain;
pub mod judge;
pub mod known_failing;
pub mod notes;
pub mod options;
pub mod plan;
pub mod probes;
pub mod progress;
pub mod report;
pub mod rules;
pub mod verdict;
pub mod wire;

pub use judge::{Judge, RunError};
pub use options::{Options, Profile};
pub use report::Report;
pub use verdict::Verdict;
