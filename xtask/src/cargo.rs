//! Runs cargo from inside a command that cargo started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Context;

/// What `cargo run` sets for the program it starts, and what an inner cargo must not inherit: build scripts that watch
/// these variables (that of `ring` does) would run again, and everything above them would be compiled again, each time
/// the outer command changes.
const SET_BY_CARGO_RUN: &[&str] = &["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
const PREFIXES_SET_BY_CARGO_RUN: &[&str] = &["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_EXE_"];

/// The cargo that started this command (or the one on the path), in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(workspace_root());
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if SET_BY_CARGO_RUN.contains(&text) || PREFIXES_SET_BY_CARGO_RUN.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// The workspace's folder: the parent of this package's.
pub(crate) fn workspace_root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// The folder that holds the programs of this build, this one included.
pub(crate) fn programs_dir() -> anyhow::Result<PathBuf> {
    let mut dir = std::env::current_exe().context("this program's own path cannot be determined")?;
    dir.pop();
    Ok(dir)
}

/// Becomes `command`, so that signals, the terminal and the exit code are its own.
#[cfg(unix)]
pub(crate) fn replace_process(mut command: Command) -> anyhow::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(error).with_context(|| format!("could not start {}", program(&command)))
}

/// Runs `command` and passes its exit code on.
#[cfg(not(unix))]
pub(crate) fn replace_process(mut command: Command) -> anyhow::Result<ExitCode> {
    let status = command.status().with_context(|| format!("could not start {}", program(&command)))?;
    Ok(exit_code(status))
}

/// Runs `command` to its end; an error when it cannot be started or fails.
pub(crate) fn run(mut command: Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", program(&command)))?;
    anyhow::ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// The exit code of an ended process; 1 when a signal ended it.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
