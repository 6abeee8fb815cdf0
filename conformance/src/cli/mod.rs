//! The command line, the same for `conform` and `cargo xtask conform`.

mod arguments;
mod dry_run;
mod rules;
mod run;
mod values;

pub use arguments::UsageError;
pub use run::{Embedded, Invocation, exit, parse};
pub use values::{FileFormat, OutputFormat, ReportFile};

/// The command line's definition, for help, completions and man pages.
#[must_use]
pub fn command() -> clap::Command {
    <arguments::Arguments as clap::CommandFactory>::command()
}
