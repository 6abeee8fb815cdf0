//! The conformance judge for the Animal Store API: it accepts every lawful server and catches every other.
//!
//! [`Options`] name a server and a key, [`Judge`] runs the probes and judges the responses, and the [`Report`] contains the
//! [`Verdict`], each requirement with its evidence, and the choices of the server where the specification leaves one.
//!
//! ```no_run
//! use animal_store_conformance::{ApiKey, Event, Interrupt, Judge, KnownFailing, Options, Plan, Profile, Scope, Status, Verdict};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let key = std::env::var("CONFORM_API_KEY")?;
//!     let mut options = Options::new("https://staging.example.com/v1", &key)?;
//!     options.plan = Some("pro".parse::<Plan>()?);
//!     options.quota_key = Some(ApiKey::new(std::env::var("CONFORM_QUOTA_KEY")?)?);
//!     options.scope = Scope { profile: Profile::Full, skip: vec!["versioning".to_owned()], ..Scope::default() };
//!     options.known_failing = KnownFailing::parse(&std::fs::read_to_string("known-failing.toml")?)?;
//!     options.strict = true;
//!
//!     // Ctrl-C ends the run early: the requests sent until then are judged.
//!     let interrupt = Interrupt::default();
//!     let at_signal = interrupt.clone();
//!     tokio::spawn(async move {
//!         if tokio::signal::ctrl_c().await.is_ok() {
//!             at_signal.raise();
//!         }
//!     });
//!
//!     let judge = Judge::new(options).interrupted_by(interrupt).listener(|event| {
//!         if let Event::Exchange { number, request, outcome, .. } = event {
//!             eprintln!("{number}: {request}: {outcome}");
//!         }
//!     });
//!     let report = judge.run().await?;
//!     for requirement in report.requirements.iter().filter(|requirement| requirement.status == Status::Fail) {
//!         println!("{}: {}", requirement.id, requirement.title);
//!     }
//!     assert_eq!(report.verdict, Verdict::Conforms, "{report}");
//!     Ok(())
//! }
//! ```
//!
//! # How it works
//!
//! ```text
//!  options ─▶ probes ──requests──▶ target
//!                │                    │
//!                └──── Exchange ◀─────┘        an exchange is a request, its outcome, and times
//!                         │
//!                       Trace ──▶ rules ──▶ verdicts ──▶ report ──▶ renderers
//! ```
//!
//! Probes decide which requests to send and judge nothing. Rules, in [`animal_store_rules`], are pure functions over the trace
//! and send nothing. So every exchange is judged by every rule that applies to it, which makes a run cheap enough for a Free
//! key.

// What is printed goes through one gate: `cli::output` prints nothing but what `redaction::printable` has made printable.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod report;

// For the programs `conform` and `cargo xtask`, and for tests.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod compare;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod diff;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod explain;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod probes;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod proxy;
#[doc(hidden)]
pub mod recorded;
#[doc(hidden)]
pub mod run;

#[cfg(feature = "cli")]
mod container;
mod events;
#[cfg(feature = "cli")]
mod exit_code;
mod gzip;
mod interrupt;
mod layout;
mod options;
mod redaction;

#[cfg(test)]
mod schema;

pub use animal_store_rules::catalogue::Level;
pub use animal_store_rules::catalogue::plan::Plan;
pub use animal_store_rules::catalogue::scope::{Profile, Scope, Side};
pub use animal_store_rules::trace::keys::ApiKey;
pub use animal_store_rules::verdict::known_failing::KnownFailing;
pub use animal_store_rules::verdict::{Status, Verdict};
pub use events::{Event, Listener};
pub use interrupt::Interrupt;
pub use options::{Earlier, Invoked, Options, Resolved, Transport, UnusableOptions};
pub use report::{Digest, Implementation, Report};
pub use run::judge::{Judge, RunError};
