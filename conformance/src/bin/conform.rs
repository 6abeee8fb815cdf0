//! `conform`: judges an Animal Store server by the specification.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match animal_store_conformance::cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation.run().await,
        Err(code) => code,
    }
}
