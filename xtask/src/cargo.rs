//! Runs cargo, and programs in general, from inside a command that cargo started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

/// The cargo that started this command (or the one on the path), in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = xtask_launcher::cargo();
    command.current_dir(workspace_root());
    command
}

/// The workspace's folder: the parent of this package's.
pub(crate) fn workspace_root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The folder that holds the programs of this build, this one included.
pub(crate) fn programs_dir() -> anyhow::Result<PathBuf> {
    let mut dir = std::env::current_exe().context("this program's own path cannot be determined")?;
    dir.pop();
    Ok(dir)
}

/// Builds a program with these options of `cargo run` and becomes it, so that signals, the terminal and the exit code are its own. Paths
/// among its arguments are meant from where the user stands.
pub(crate) fn become_program(options: &[&str], args: impl IntoIterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let mut command = cargo();
    command.args(["run", "--quiet"]).args(options).arg("--").args(args).current_dir(std::env::current_dir()?);
    xtask_launcher::replace_process(&mut command).with_context(|| could_not_start(&command))
}

/// Runs a command to its end, with its output shown; an error when it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| could_not_start(command))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// Runs a command without input. Returns its standard output; an error when it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| could_not_start(command))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{text}{said}", output.status);
    Ok(text.into_owned())
}

/// How many seconds a command runs; an error if it fails.
pub(crate) fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    let start = Instant::now();
    output(command)?;
    Ok(start.elapsed().as_secs_f64())
}

fn could_not_start(command: &Command) -> String {
    format!("could not start {}", command.get_program().display())
}
