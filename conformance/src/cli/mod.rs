//! The command line, the same for `conform` and `cargo xtask conform`.

mod arguments;
mod config;
#[cfg_attr(not(feature = "containers"), path = "uncontained.rs")]
mod contained;
mod container;
mod diff;
mod dry_run;
mod init;
mod output;
mod parse;
mod progress;
mod report_files;
mod rules;
mod run;
mod signals;
mod to_options;
mod values;

pub use arguments::command;
pub use output::exit;
pub use parse::parse;
pub use run::{Embedded, Invocation};
pub use to_options::UsageError;
pub use values::{OutputFormat, Printed, ReportFile};
