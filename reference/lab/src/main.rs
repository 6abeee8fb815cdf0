//! The `animal-lab` program.

use std::process::ExitCode;

// The allocator of the reference server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    animal_store_lab::cli::run(std::env::args_os())
}
