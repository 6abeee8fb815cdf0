//! The program: from arguments to an exit code.

pub mod config;
mod keys;
mod serve;
mod stopping;

use std::io::{self, Write};
use std::{ffi::OsString, fmt::Display, process::ExitCode};

use clap::{CommandFactory, Parser};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tracing_subscriber::fmt;

use crate::api::{app::AppOptions, extension::Plain, openapi};
use crate::domain::clock::Clock;
use config::{Cli, Command, HealthArgs, ServeArgs};
pub use serve::serve;

/// The name of the program.
const PROGRAM: &str = "reference";

/// The reason why a command failed, by its exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command failed: exit code 1.
    Failed(String),
    /// The command line asks for something impossible: exit code 2.
    Usage(String),
    /// A server, or the database it needs, could not be started: exit code 3.
    CannotStart(String),
    /// The command was stopped before its work was done: exit code 4.
    Unfinished(String),
}

impl Failure {
    /// A [`Failure::Failed`] with the message of an error.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// A [`Failure::CannotStart`] with the message of an error.
    pub fn cannot_start(error: impl Display) -> Self {
        Self::CannotStart(error.to_string())
    }
}

/// The definition of the command line, for completions and man pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, its own name first, and returns the exit code of [`exit_code`]. Two ends do not return: wrong
/// usage exits with 2, and a server that ends before its work is done with 4 (see `stopping.rs`).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = match Cli::parse_from(args).command {
        Command::Serve(args) => serve(PROGRAM, &args, Plain),
        Command::Keys(args) => keys::run(&args),
        Command::Openapi => print(&openapi::text(&AppOptions::new(Clock::system()).base_path)),
        Command::Health(args) => health(&args),
    };
    exit_code(PROGRAM, outcome)
}

/// Writes to standard output. A reader that has gone is an error, not a panic.
///
/// # Errors
///
/// [`Failure::Failed`] with the error of the system.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::failed)
}

/// The exit code of a program: 0 for success, 1 if it failed, 2 for wrong usage, 3 if it could not start, 4 if it was
/// stopped unfinished. A failure is reported on standard error.
pub fn exit_code(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (1, message),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::CannotStart(message)) => (3, message),
        Err(Failure::Unfinished(message)) => (4, message),
    };
    // A standard error that is gone cannot be told.
    let _ = io::stderr().write_all(format!("{program}: {message}\n").as_bytes());
    ExitCode::from(code)
}

/// Starts the log, on standard error. It has no effect if the process already logs.
///
/// No key can be in a log because no text of a client is logged: no header, no body, no path and no query, only the name of
/// a route. A line that cannot be written, for example because a disk is full, is lost and ends nothing.
fn start_log(args: &ServeArgs) {
    let log = fmt().with_max_level(args.log).with_writer(io::stderr).with_ansi(false).log_internal_errors(false);
    let _ = log.try_init();
    // A panic is a line like any other.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

/// Asks a running server whether it is healthy.
///
/// # Errors
///
/// [`Failure::Failed`] when the server is not healthy or does not answer in time.
pub fn health(args: &HealthArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let is_healthy = async {
        let mut stream = args.address.connect().await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        // The beginning of the status line suffices.
        let mut start = [0; 12];
        stream.read_exact(&mut start).await?;
        Ok(start == *b"HTTP/1.1 200")
    };
    match runtime.block_on(async { timeout(args.timeout, is_healthy).await }).map_err(io::Error::from).flatten() {
        Ok(true) => print("ok\n"),
        Ok(false) => Err(Failure::Failed(format!("{} is not healthy", args.address))),
        Err(error) => Err(Failure::Failed(format!("no response from {}: {error}", args.address))),
    }
}
