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

#[cfg(feature = "program")]
pub mod again;
pub mod catalogue;
#[cfg(feature = "program")]
pub mod cli;
#[cfg(feature = "program")]
pub mod container;
#[cfg(feature = "program")]
pub mod diff;
#[cfg(feature = "program")]
pub mod explain;
#[cfg(feature = "program")]
pub mod interrupt;
#[cfg(feature = "program")]
pub mod judge;
#[cfg(feature = "program")]
pub mod known_failing;
#[cfg(feature = "program")]
pub mod malformed;
#[cfg(feature = "program")]
pub mod notes;
#[cfg(feature = "program")]
pub mod options;
pub mod plan;
#[cfg(feature = "program")]
pub mod probes;
#[cfg(feature = "program")]
pub mod progress;
#[cfg(feature = "program")]
pub mod redaction;
#[cfg(feature = "program")]
pub mod report;
pub mod rules;
#[cfg(feature = "program")]
pub mod verdict;
pub mod wire;

#[cfg(all(test, feature = "program"))]
mod schema;

#[cfg(feature = "program")]
mod columns;

#[cfg(feature = "program")]
pub use judge::{Judge, RunError};
#[cfg(feature = "program")]
pub use options::{Options, Profile};
#[cfg(feature = "program")]
pub use report::Report;
#[cfg(feature = "program")]
pub use verdict::Verdict;
