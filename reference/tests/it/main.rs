//! The server as its users meet it: over sockets, as a process, on a file.

mod auth;
mod browser;
mod challenge;
mod contract;
mod control;
mod crowd;
mod deprecation;
mod durability;
mod embedded;
mod faults;
mod fixtures;
mod http_rules;
mod laboratory;
mod lifecycle;
mod limits;
mod logs;
mod mock;
mod startup;
mod storage;
mod support;
mod tls;
mod transport;
