//! The command line, the same for `conform` and `cargo xtask conform`.

mod arguments;
mod run;

pub use arguments::{OutputFormat, ReportFile, UsageError};
pub use run::{Embedded, Invocation, exit, parse};

/// The command line's definition, for help, completions and man pages.
#[must_use]
pub fn command() -> clap::Command {
    <arguments::Arguments as clap::CommandFactory>::command()
}
