//! The `reference` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    animal_store_reference::cli::run(std::env::args_os())
}
