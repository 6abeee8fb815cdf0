//! The program that `cargo xtask` starts. `cargo run` shows either the progress of a build together with the command line that it starts, which
//! may contain a key, or nothing at all. This program builds quickly and without output; it lets cargo build the project's own
//! commands, with visible progress if they have never been built, and runs them with its own arguments.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use xtask_launcher::{cargo, replace_process};

/// The package of the project's own commands, and its program.
const COMMANDS: &str = "xtask";

fn main() -> ExitCode {
    launch().unwrap_or_else(|error| {
        eprintln!("error: cargo xtask: {error}");
        ExitCode::FAILURE
    })
}

fn launch() -> io::Result<ExitCode> {
    let program = beside(&env::current_exe()?);
    let mut build = build(program.exists());
    if !build.status()?.success() {
        // Cargo has said why.
        return Ok(ExitCode::FAILURE);
    }
    replace_process(Command::new(program).args(env::args_os().skip(1)))
}

/// The path of the program `xtask`, which cargo puts into the folder of this one.
fn beside(launcher: &Path) -> PathBuf {
    launcher.with_file_name(COMMANDS).with_extension(env::consts::EXE_EXTENSION)
}

/// The build of the commands in the profile of this program.
fn build(was_built: bool) -> Command {
    let mut cargo = cargo();
    cargo.args(["build", "--package", COMMANDS]);
    if was_built {
        cargo.arg("--quiet");
    } else {
        eprintln!("The first build takes some minutes.");
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(was_built: bool) -> Vec<String> {
        build(was_built).get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn only_the_first_build_is_shown() {
        assert!(!arguments(false).contains(&"--quiet".to_owned()));
        assert!(arguments(true).contains(&"--quiet".to_owned()));
    }

    #[test]
    fn the_program_is_looked_for_where_cargo_puts_it() {
        let launcher = Path::new("target").join("debug").join(format!("xtask-launcher{}", env::consts::EXE_SUFFIX));
        let program = Path::new("target").join("debug").join(format!("xtask{}", env::consts::EXE_SUFFIX));
        assert_eq!(beside(&launcher), program);
    }
}
