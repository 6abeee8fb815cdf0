//! The recording of a run.

use std::time::Duration;

use super::options::RunOptions;
use super::pseudonyms::without_secrets;
use crate::options::Options;
use crate::redaction;
use crate::report::TOOL;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::recording::{Head, Writer, lines};

/// The recording of a run as JSON Lines: its options, and every exchange. It contains no key.
#[must_use]
pub fn record(trace: &Trace, options: &Options, ended_early: Option<&str>, took: Option<Duration>) -> String {
    let (trace, options) = without_secrets(trace, options);
    let head = head_of(&trace, &options, ended_early, took);
    std::iter::once(lines::head_line(&head)).chain(trace.exchanges.iter().map(lines::line)).collect()
}

/// The head of the recording of a run, without a key.
pub(crate) fn head(trace: &Trace, options: &Options, ended_early: Option<&str>, took: Option<Duration>) -> Head {
    let context = trace.context.clone();
    let (without_exchanges, options) = without_secrets(&Trace { context, exchanges: Vec::new() }, options);
    Head { exchanges: Some(trace.exchanges.len()), ..head_of(&without_exchanges, &options, ended_early, took) }
}

/// The judge as the writer of a trace.
#[must_use]
pub fn writer() -> Writer {
    Writer { name: TOOL.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The head of a recording, given a trace and options that contain pseudonyms.
fn head_of(trace: &Trace, options: &Options, ended_early: Option<&str>, took: Option<Duration>) -> Head {
    let mut options = options.clone();
    options.transport.proxy = options.transport.proxy.as_deref().map(redaction::without_secrets);
    let options = RunOptions { options, ended_early: ended_early.map(str::to_owned), took };
    // Plain data: texts, numbers and lists.
    let options = serde_json::to_value(options).unwrap_or_default();
    Head { options, exchanges: Some(trace.exchanges.len()), ..Head::of(&trace.context, writer()) }
}
