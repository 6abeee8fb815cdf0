//! The program `conform`, from the arguments of the process to its exit code.

use super::output::complete;
use super::parse::parse;
use crate::image::{Container, NoContainer};

/// The program `conform`: runs the judge with the arguments of the process.
#[must_use]
pub fn start_without_containers() -> std::process::ExitCode {
    start::<NoContainer>()
}

/// The program `conform`, in which `--image` starts containers of this kind.
#[must_use]
pub fn start<C: Container>() -> std::process::ExitCode {
    let judged = parse(std::env::args_os()).and_then(|invocation| complete(invocation.run_with::<C>()));
    judged.unwrap_or_else(|code| code).into()
}
