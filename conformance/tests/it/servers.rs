//! The judge against hundreds of servers, over HTTP on loopback. Each is a test by itself:
//! `cargo test -p animal-store-conform saboteur::headers_limit_none_on_401`
//!
//! The tests are made of the tables of servers when the program starts, which the standard harness cannot do.

mod archives;
mod connections;
mod description;
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

/// The most TCP connections that this program may open, so that the tests run where a firewall tracks connections. The servers that
/// are hostile below HTTP need some hundred.
const MOST_CONNECTIONS: u64 = 5_000;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(trials::at_once);
    let trials: Vec<Trial> =
        [archives::trials(), description::trials(), hostile::trials(), saboteurs::trials(), variants::trials()]
            .into_iter()
            .flatten()
            .collect();
    let mut names = HashSet::new();
    for trial in &trials {
        assert!(names.insert(trial.name()), "two tests are called {}", trial.name());
    }
    let before = connections::opened();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(opened) = connections::opened().zip(before).map(|(after, before)| after - before)
        && opened > MOST_CONNECTIONS
    {
        eprintln!(
            "{opened} TCP connections were opened meanwhile, more than {MOST_CONNECTIONS}: does a server of the tests listen on a port \
             instead of a Unix socket? Other programs of this machine count as well."
        );
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
