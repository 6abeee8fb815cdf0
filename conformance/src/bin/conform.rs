//! `conform`: judges an Animal Store server by the specification.

use std::process::ExitCode;

use animal_store_conformance::cli::{self, exit};

fn main() -> ExitCode {
    let invocation = match cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the system gives no threads to work with: {error}");
            return ExitCode::from(exit::COULD_NOT_RUN);
        }
    };
    let code = runtime.block_on(invocation.run());
    // A hostile server can keep a connection busy for long after its request was given up. Nobody waits for that.
    runtime.shutdown_background();
    code
}
