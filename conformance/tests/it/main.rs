//! The judge against whole servers, over HTTP on loopback, and all that it shows of them. Tables of servers are in `servers.rs`.

mod action;
mod architecture;
mod authorities;
mod browser;
mod candidate;
mod clients;
mod command_line;
mod compare;
mod configuration;
mod coverage;
mod curl;
mod cut_short;
mod diff;
mod evidence;
mod faults;
mod fleet;
mod formats;
mod generated;
mod host;
mod html;
mod image;
mod imports;
mod intermediaries;
mod keys;
mod known_failing;
mod laboratory;
mod lawful;
mod mistakes;
mod near_misses;
mod preflight;
mod printable;
mod progress;
mod proxy;
mod proxy_faithful;
mod proxy_tls;
mod record;
mod recorded;
mod recorded_files;
mod reference;
mod refusals;
mod rendering;
mod repetition;
mod report_files;
mod rules_command;
mod sample;
mod secrets;
mod selection;
mod sending;
mod sockets;
mod support;
mod tls;
mod urls;
mod vectors;

use animal_store_conformance::Options;
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, RunError};
use support::{broken, options};

async fn judge(options: Options) -> Result<Report, RunError> {
    Judge::new(options).run().await
}
