//! The program `conform`, from the arguments of the process to its exit code.

use std::process::ExitCode;

use super::output::could_not_run;
use super::parse::parse;
use crate::image::{Container, NoContainer};

/// The program `conform`: runs the judge with the arguments of the process.
#[must_use]
pub fn start_without_containers() -> ExitCode {
    start::<NoContainer>()
}

/// The program `conform`, in which `--image` starts containers of this kind.
#[must_use]
pub fn start<C: Container>() -> ExitCode {
    let invocation = match parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(code) => return code.into(),
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return could_not_run(&format!("cannot start the asynchronous runtime: {error}")).into(),
    };
    let code = runtime.block_on(invocation.run_with::<C>());
    // A hostile server can keep a connection busy long after its request has timed out: do not wait for it.
    runtime.shutdown_background();
    code.into()
}
