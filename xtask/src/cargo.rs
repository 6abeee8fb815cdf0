//! Runs cargo from inside a command that cargo started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Context;

#[path = "../launcher/src/inherited.rs"]
mod inherited;

/// The cargo that started this command (or the one on the path), in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(workspace_root());
    inherited::forget(&mut command);
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
