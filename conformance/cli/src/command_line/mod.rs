//! The command line, the same for `conform` and `cargo xtask conform`.

mod arguments;
mod commanded;
mod compare;
mod completions;
mod config;
mod container;
mod delivery;
mod diff;
mod dry_run;
mod init;
mod judge;
mod known_failing;
mod man;
mod output;
mod parse;
mod program;
mod progress;
mod proxy;
mod report_files;
mod rerun;
mod rules;
mod run;
mod selection;
mod signals;
mod traffic;
mod usage_error;
mod values;

pub use arguments::command;
pub use parse::parse;
pub use program::start;
pub use run::{Embedded, Invocation};
