//! The program `conform` as a library, for `cargo xtask conform` and for the tests of the judge.
//!
//! `conform --help` describes the program. Its options, exit codes and report formats are a promise; the items of this library are none.
//! To judge a server from your own tests, use [`animal_store_conformance`].

// All output goes through one gate: `command_line::output` prints only text that `redaction::printable` has made printable.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod compare;
pub mod diff;
pub mod explain;
pub mod formats;
pub mod proxy;

pub mod image;

mod command_line;
mod exit_code;

pub use command_line::{Embedded, Invocation, command, parse, start};
pub use exit_code::ExitCode;
