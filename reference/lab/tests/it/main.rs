//! The laboratory as its users meet it: as a process, over sockets.

mod challenge;
mod control;
mod fixtures;
mod laboratory;
mod mock;
#[allow(dead_code, reason = "the tests of the reference need more of it")]
#[path = "../../../tests/it/support.rs"]
mod support;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_animal-lab");
