//! The server as its users meet it: over sockets, as a process, on a file.

mod auth;
mod contract;
mod crowd;
mod durability;
mod embedded;
mod faults;
mod given_keys;
mod http_rules;
mod lifecycle;
mod limits;
mod logs;
mod startup;
mod storage;
mod support;
mod tls;
mod transport;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");
