//! `cargo xtask`: builds the project's own programs and starts them.
//!
//! `cargo run` shows either the progress of a build together with the command line that it starts, which may contain a key, or nothing at
//! all. This program is built without output; it lets cargo build the program of a command, with visible progress the first time, and
//! becomes it. No command builds more than it needs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use xtask::{cargo, programs_dir, replace_process, text_of};

mod test;

const HELP: &str = "The project's own commands

Usage: cargo xtask <COMMAND> [ARGS]

  conform      judge a server: the reference on a simulated clock, or any other with --base-url
  rules        list the requirements, or explain one: cargo xtask rules list.complete
  serve        start the reference server with a key for each plan and a temporary database
  test         run the tests; --all adds those that take long or need other programs
  lab          judge the lawful or the broken servers of many seeds
  bench        measure the reference and the judge, as ratios within one run
  dist         build static release programs, archives and packages
  image        build container images that hold the static programs and nothing else
  completions  write shell completions of the programs
  man          write man pages of the programs

Each command prints its arguments with --help.";

/// A program of the workspace that a command starts.
struct Tool {
    package: &'static str,
    program: &'static str,
    /// Whether its figures mean something only when it is optimised.
    release: bool,
    /// The arguments before those of the user.
    arguments: Vec<OsString>,
}

impl Tool {
    fn new(package: &'static str, arguments: &[&str]) -> Tool {
        Tool { package, program: package, release: false, arguments: arguments.iter().map(OsString::from).collect() }
    }

    /// The tool of a command; `None` for an unknown one.
    fn of(command: &str) -> Option<Tool> {
        Some(match command {
            // The first argument is the name that messages use.
            "conform" => Tool::new("xtask-conform", &["cargo xtask conform"]),
            "rules" => Tool::new("xtask-conform", &["cargo xtask", "rules"]),
            "serve" => Tool { program: "reference", ..Tool::new("animal-store-reference", &["serve", "--dev"]) },
            "lab" => Tool::new("xtask-lab", &[]),
            "bench" => Tool { release: true, ..Tool::new("xtask-bench", &[]) },
            "dist" | "image" | "completions" | "man" => Tool::new("xtask-dist", &[command]),
            _ => return None,
        })
    }

    /// Builds the program and becomes it, with these arguments after its own.
    fn start(self, arguments: &[OsString]) -> io::Result<ExitCode> {
        let folder = programs_dir()?;
        let release = self.release || !cfg!(debug_assertions);
        let folder = if release { folder.with_file_name("release") } else { folder };
        let program = folder.join(self.program).with_extension(env::consts::EXE_EXTENSION);
        let mut build = cargo();
        build.args(["build", "--package", self.package, "--bin", self.program]);
        build.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped());
        if program.exists() {
            build.arg("--quiet");
        } else {
            eprintln!("The first build takes some minutes.");
        }
        if release {
            build.arg("--release");
        }
        let built = build.stderr(Stdio::inherit()).output()?;
        if !built.status.success() {
            return Err(io::Error::other("the build failed, as cargo says above"));
        }
        // The workspace may have another target folder than the one that this program is in.
        let messages = String::from_utf8_lossy(&built.stdout);
        let program =
            messages.lines().rev().find_map(|line| text_of(line, "executable")).map_or(program, PathBuf::from);
        replace_process(std::process::Command::new(program).args(self.arguments).args(arguments))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let command = arguments.first().and_then(|command| command.to_str()).unwrap_or("--help");
    let rest = arguments.get(1..).unwrap_or_default();
    let started = match (command, Tool::of(command)) {
        ("-h" | "--help" | "help", _) => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        ("test", _) => test::run(rest),
        // `--dev` is always given, and may be given again.
        ("serve", Some(tool)) => {
            tool.start(&rest.iter().filter(|argument| *argument != OsStr::new("--dev")).cloned().collect::<Vec<_>>())
        }
        (_, Some(tool)) => tool.start(rest),
        (unknown, None) => {
            eprintln!("error: `{unknown}` is not a command\n\n{HELP}");
            Ok(ExitCode::from(2))
        }
    };
    started.unwrap_or_else(|error| {
        eprintln!("error: cargo xtask: {error}");
        // 1 would mean that the judged server violates the specification.
        if command == "conform" { ExitCode::from(3) } else { ExitCode::FAILURE }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_starts_a_tool() {
        let commands = HELP.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for command in commands {
            assert!(command == "test" || Tool::of(command).is_some(), "{command}");
        }
        assert!(Tool::of("tset").is_none());
    }
}
