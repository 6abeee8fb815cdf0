//! Starts cargo and other programs from inside a program that `cargo run` has started: for `cargo xtask`, and for the project's tools
//! that it starts. Only the standard library is used, so that `cargo xtask` itself is built within a second.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

/// How the names of the variables begin that `cargo run` sets for the program that it starts, and that an inner cargo must not inherit.
/// Build scripts that watch them (that of `ring` does) would run again, and everything above them would be compiled again, each time
/// the outer command changes.
const INHERITED: &[&str] =
    &["CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_PRIMARY_PACKAGE"];

/// The cargo that started this program, or the one on the path, in the workspace's folder.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|text| INHERITED.iter().any(|beginning| text.starts_with(beginning))) {
            command.env_remove(&name);
        }
    }
    command.current_dir(workspace_root());
    command
}

/// The folder of the workspace: that of the current folder, else that of the package which cargo started.
pub fn workspace_root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    workspace_of(env::current_dir().ok().into_iter().chain(package)).unwrap_or_default()
}

/// The workspace of this project that contains the first of these folders that is in one. A program may run in another copy of the workspace
/// than the one in which it was compiled.
fn workspace_of(folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let is_root = |folder: &Path| folder.join("Cargo.lock").is_file() && folder.join("xtask/Cargo.toml").is_file();
    let root = |folder: PathBuf| folder.ancestors().find(|above| is_root(above)).map(Path::to_owned);
    folders.into_iter().find_map(root)
}

/// The value of the first member of this name in a message of cargo, if it is a text. Paths and names with escapes are not read.
pub fn text_of<'m>(message: &'m str, member: &str) -> Option<&'m str> {
    let value = message.split_once(&format!(r#""{member}":""#))?.1;
    let value = value.split_once('"')?.0;
    (!value.contains('\\')).then_some(value)
}

/// The folder of the program that runs.
///
/// # Errors
///
/// If the path of the program cannot be determined.
pub fn programs_dir() -> io::Result<PathBuf> {
    let mut dir = env::current_exe()?;
    dir.pop();
    Ok(dir)
}

/// Becomes a program, so that signals, the terminal and the exit code are its own.
///
/// # Errors
///
/// If the program cannot be started.
#[cfg(unix)]
pub fn replace_process(command: &mut Command) -> io::Result<ExitCode> {
    let error = std::os::unix::process::CommandExt::exec(command);
    Err(could_not_start(command, &error))
}

/// Runs a program and returns its exit code.
///
/// # Errors
///
/// If the program cannot be started.
#[cfg(not(unix))]
pub fn replace_process(command: &mut Command) -> io::Result<ExitCode> {
    let status = command.status().map_err(|error| could_not_start(command, &error))?;
    Ok(exit_code(status))
}

/// The exit code of an ended process; 1 when a signal ended it.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs a command to its end, with its output shown.
///
/// # Errors
///
/// If the command cannot be started or fails.
pub fn run(command: &mut Command) -> io::Result<()> {
    let status = command.status().map_err(|error| could_not_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} failed: {status}"))) }
}

/// Runs a command without input, and returns its standard output.
///
/// # Errors
///
/// If the command cannot be started or fails; the message has its output.
pub fn output(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| could_not_start(command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(text.into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?} failed: {}\n{text}{errors}", output.status)))
}

/// The number of seconds that a command runs.
///
/// # Errors
///
/// If the command cannot be started or fails.
pub fn seconds(command: &mut Command) -> io::Result<f64> {
    let start = Instant::now();
    output(command)?;
    Ok(start.elapsed().as_secs_f64())
}

fn could_not_start(command: &Command, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("could not start {}: {error}", command.get_program().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_the_folder_with_the_lock_file() {
        assert!(workspace_root().join("Cargo.lock").is_file() && workspace_root().join("fixtures").is_dir());
    }

    #[test]
    fn of_two_copies_of_the_workspace_the_one_in_which_a_program_runs_counts() {
        let folder = env::temp_dir().join(format!("xtask-copies-{}", std::process::id()));
        let copy = |name: &str| {
            let root = folder.join(name);
            std::fs::create_dir_all(root.join("xtask/src")).expect("a folder");
            std::fs::write(root.join("Cargo.lock"), "").expect("a file");
            std::fs::write(root.join("xtask/Cargo.toml"), "").expect("a file");
            root
        };
        let (here, compiled) = (copy("here"), copy("compiled"));
        let found = |current: PathBuf| workspace_of([current, compiled.join("xtask")]);
        assert_eq!(found(here.join("xtask/src")), Some(here.clone()));
        assert_eq!(found(folder.clone()), Some(compiled.clone()), "not in a workspace");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    #[test]
    fn the_message_of_a_failed_command_has_its_output() {
        let error = output(cargo().arg("--no-such-option")).expect_err("an error").to_string();
        assert!(error.contains("--no-such-option"), "{error}");
    }
}
