//! Logs: on standard error, structured, and never with a key in them.
//!
//! That holds because nothing that a client sends is ever logged: no header, no body, no path and no
//! query, only the name of a route.

use std::io::stderr;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::{LogFormat, LogLevel};

/// Starts logging; without effect if the process already logs.
pub(crate) fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let builder = fmt().with_max_level(level).with_writer(stderr);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
