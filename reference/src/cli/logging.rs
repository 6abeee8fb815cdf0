//! Logs: on standard error, structured, and never with a key in them.
//!
//! No key can be in a log because no text of a client is logged: no header, no body, no path and no query, only the name of
//! a route. A line that cannot be written, for example because a disk is full, is lost and ends nothing.

use std::io;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::cli::config::{LogFormat, LogLevel};

/// Starts logging. It has no effect if the process already logs.
pub(crate) fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let builder = fmt().with_max_level(level).log_internal_errors(false).with_writer(io::stderr);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // A panic is a line like any other, also in JSON.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}
