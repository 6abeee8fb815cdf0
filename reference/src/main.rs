//! The `reference` program.

use std::process::ExitCode;

// The allocator of glibc slows down with the heap that many creations leave behind (.github/decisions/allocator.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    animal_store_reference::cli::run(std::env::args_os())
}
