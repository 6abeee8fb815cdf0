//! Starts cargo from inside a program that `cargo run` has started, for the launcher and for the project's own commands.

use std::env;
use std::io;
use std::process::{Command, ExitCode};

/// How the names of the variables begin that `cargo run` sets for the program that it starts, and that an inner cargo must not inherit.
/// Build scripts that watch them (that of `ring` does) would run again, and everything above them would be compiled again, each time
/// the outer command changes.
const INHERITED: &[&str] =
    &["CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_PRIMARY_PACKAGE"];

/// The cargo that started this program, or the one on the path.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|text| INHERITED.iter().any(|beginning| text.starts_with(beginning))) {
            command.env_remove(&name);
        }
    }
    command
}

/// Becomes a program, so that signals, the terminal and the exit code are its own.
///
/// # Errors
///
/// If the program cannot be started.
#[cfg(unix)]
pub fn replace_process(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs a program and returns its exit code.
///
/// # Errors
///
/// If the program cannot be started.
#[cfg(not(unix))]
pub fn replace_process(command: &mut Command) -> io::Result<ExitCode> {
    Ok(exit_code(command.status()?))
}

/// The exit code of an ended process; 1 when a signal ended it.
#[must_use]
pub fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
