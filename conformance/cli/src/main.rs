//! `conform`: judges an Animal Store server by the specification.

use animal_store_conform::{ExitCode, parse};

fn main() -> std::process::ExitCode {
    run().into()
}

fn run() -> ExitCode {
    let invocation = match parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the asynchronous runtime: {error}");
            return ExitCode::CouldNotRun;
        }
    };
    let code = runtime.block_on(invocation.run());
    // A hostile server can keep a connection busy long after its request has timed out: do not wait for it.
    runtime.shutdown_background();
    code
}
