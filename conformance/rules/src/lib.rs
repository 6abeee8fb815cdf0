//! The rules of the Animal Store API: what the specification requires, judged from recorded exchanges.
//!
//! ```text
//!  Trace ──▶ History ──▶ limits ──▶ rules ──▶ verdicts
//! ```
//!
//! Everything here is a pure function over a [`trace::Trace`]: nothing sends, sleeps, or reads a clock, a file or the
//! environment. So the rules judge recorded traffic as well as that of a run, and are tested without a network.
//!
//! [`judge`] gives a verdict on each requirement of the [`catalogue()`]. The crate `animal-store-traffic` reads traces and HTTP Archives.
//!
//! ```
//! use animal_store_rules::trace::exchange::{Exchange, Outcome, Request, Response};
//! use animal_store_rules::trace::knowledge::{Extent, Knowledge};
//! use animal_store_rules::{Context, Scope, Status, Trace, judge};
//!
//! let time = "2026-06-01T12:00:00Z".parse()?;
//! let exchange = Exchange {
//!     number: 1,
//!     probe: "example".into(),
//!     step: String::new(),
//!     request: Request::new("GET", "/pets"),
//!     outcome: Outcome::Response(Response { status: 200, headers: Vec::new(), body: b"[]".to_vec(), cut: false }),
//!     sent_at: time,
//!     received_at: time,
//!     known: Knowledge::default(),
//! };
//! let context = Context::new(Extent::Run, "https://api.example.com/v1");
//! let verdicts = judge(&Trace { context, exchanges: vec![exchange] }, &Scope::default());
//! let broken = |id: &str| verdicts.iter().any(|verdict| verdict.requirement.id == id && verdict.status == Status::Fail);
//! assert!(broken("auth.missing-key"), "a request without a key got 200");
//! # Ok::<(), jiff::Error>(())
//! ```

pub mod catalogue;
pub mod trace;
pub mod verdict;

pub use catalogue::scope::{Profile, Scope, Side};
pub use catalogue::{Level, Party, Requirement, catalogue};
pub use trace::keys::ApiKey;
pub use trace::{Context, Trace};
pub use verdict::{RequirementVerdict, Status, Verdict, judge};

// For the judge, the laboratory and their tests only; they may change with any version.
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod fleet;
#[doc(hidden)]
pub mod history;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod near_misses;
#[doc(hidden)]
pub mod observers;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod rules;
#[doc(hidden)]
pub mod sentence;
#[doc(hidden)]
pub mod tolerance;
#[doc(hidden)]
pub mod toml_error;
#[doc(hidden)]
pub mod transcript;

mod words;

#[cfg(test)]
mod tests;
