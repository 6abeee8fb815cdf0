//! The recording of a run.

use std::time::Duration;

use super::options::RunOptions;
use super::pseudonyms::without_secrets;
use crate::options::Options;
use crate::redaction;
use crate::report::TOOL;
use animal_store_rules::trace::Trace;
use animal_store_traffic::{Head, Writer, lines};

/// The recording of a run as JSON Lines: its options, and every exchange. It contains no key.
#[must_use]
pub fn record(trace: &Trace, options: &Options, ended_early: Option<&str>, took: Option<Duration>) -> String {
    let (trace, mut options) = without_secrets(trace, options);
    options.transport.proxy = options.transport.proxy.as_deref().map(redaction::without_secrets);
    let options = RunOptions { options, ended_early: ended_early.map(str::to_owned), took };
    // Plain data: texts, numbers and lists.
    let options = serde_json::to_value(options).unwrap_or_default();
    let head = Head { options, exchanges: Some(trace.exchanges.len()), ..Head::of(&trace.context, writer()) };
    std::iter::once(lines::head_line(&head)).chain(trace.exchanges.iter().map(lines::line)).collect()
}

/// The judge as the writer of a trace.
#[must_use]
pub fn writer() -> Writer {
    Writer { name: TOOL.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}
