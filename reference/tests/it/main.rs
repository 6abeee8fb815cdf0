//! The server as its users meet it: over sockets, as a process, on a file.

mod auth;
mod contract;
mod deprecation;
mod durability;
mod embedded;
mod lifecycle;
mod limits;
mod logs;
mod startup;
mod storage;
mod support;
mod tls;
mod transport;
