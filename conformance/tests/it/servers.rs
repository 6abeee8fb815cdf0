//! The judge against hundreds of servers, over HTTP on loopback. Each is a test by itself:
//! `cargo test -p animal-store-conform saboteur::headers_limit_none_on_401`
//!
//! The tests are made of the tables of servers when the program starts, which the standard harness cannot do.

mod archives;
mod figures;
mod host;
mod hostile;
mod laboratory;
mod saboteurs;
mod session;
mod sockets;
mod support;
mod trials;
mod variants;

use std::collections::HashSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use support::{broken, options};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(trials::at_once);
    let trials: Vec<Trial> = [archives::trials(), hostile::trials(), saboteurs::trials(), variants::trials()]
        .into_iter()
        .flatten()
        .collect();
    let mut names = HashSet::new();
    for trial in &trials {
        assert!(names.insert(trial.name()), "two tests are called {}", trial.name());
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
