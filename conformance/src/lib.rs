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
//!     options.judging.plan = Some("pro".parse::<Plan>()?);
//!     options.quota_key = Some(ApiKey::new(std::env::var("CONFORM_QUOTA_KEY")?)?);
//!     options.judging.scope = Scope { profile: Profile::Full, skip: vec!["versioning".to_owned()], ..Scope::default() };
//!     options.judging.known_failing = KnownFailing::parse(&std::fs::read_to_string("known-failing.toml")?)?;
//!     options.judging.strict = true;
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
//!         if let Event::Exchange { number, method, target, answer, .. } = event {
//!             eprintln!("{number}: {method} {target}: {answer}");
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
//!
//! # Modules
//!
//! [`recorded`] judges traffic that was recorded, by a run or by another program, and [`report`] has the parts of a [`Report`]. The others
//! are for programs around the judge, such as `conform`: [`redaction`] makes text printable, [`layout`] fits it into columns, and [`http`]
//! has the HTTP client and the clock of a run.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(not(unix))]
compile_error!(
    "the judge supports only Unix systems, such as Linux and macOS: it uses their sockets, signals and process groups"
);

pub mod http;
pub mod layout;
pub mod recorded;
pub mod redaction;
pub mod report;

mod events;
mod interrupt;
mod options;
#[expect(unreachable_pub, reason = "the items of the probes are for the whole crate")]
mod probes;
mod run;

// Runs the example of the page.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;

pub use animal_store_diagnose::known_failing::KnownFailing;
pub use animal_store_rules::catalogue::Level;
pub use animal_store_rules::catalogue::plan::Plan;
pub use animal_store_rules::catalogue::scope::{Profile, Scope, Side};
pub use animal_store_rules::trace::exchange::FailureKind;
pub use animal_store_rules::trace::keys::ApiKey;
pub use animal_store_rules::verdict::{Status, Verdict};
pub use events::{Answer, Event, Listener};
pub use interrupt::Interrupt;
pub use options::{Budget, Earlier, Invoked, Judging, Options, Resolved, Transport, UnusableOptions, normal_base_url};
pub use probes::plan::RunPlan;
pub use probes::session::Stop;
pub use probes::target::{ObstacleKind, UnusableTarget};
pub use report::{Implementation, Report};
pub use run::{Judge, RunError, conclude, context};
