//! The program `conform`, from the arguments of the process to its exit code.

use super::output::complete;
use super::parse::parse;
use crate::image::Prepare;

/// The program `conform`: runs the judge with the arguments of the process. `--image` starts containers if the program can prepare them.
pub fn start(prepare: Option<Prepare>) -> std::process::ExitCode {
    let judged = parse(std::env::args_os()).and_then(|invocation| complete(invocation.run_with(prepare)));
    judged.unwrap_or_else(|code| code).into()
}
