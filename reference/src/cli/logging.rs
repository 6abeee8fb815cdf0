//! Logs: on standard error, structured, and never with a key in them.
//!
//! No key can be in a log because no text of a client is logged: no header, no body, no path and no query, only the name of
//! a route.
//!
//! A log never delays the server and never ends it. Lines go through a bounded queue to a thread that writes them;
//! when standard error is not read, or the disk is full, lines are lost.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::cli::config::{LogFormat, LogLevel};

/// The number of lines that may wait to be written: some hundred KiB.
const QUEUE: usize = 4096;

/// The log of the process. Dropping it writes the lines that still wait, for a second at most.
pub(crate) struct Log(Option<WorkerGuard>);

impl Drop for Log {
    fn drop(&mut self) {
        let guard = self.0.take();
        // If the lines cannot be written, the guard prints a message, and panics if standard output is closed.
        let _ = std::thread::spawn(move || drop(guard)).join();
    }
}

/// Starts logging. It has no effect if the process already logs.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> io::Result<Log> {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // The log has a descriptor of its own, because a write that never ends would hold the lock of `stderr()` for ever.
    let target = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let (lines, log) = NonBlockingBuilder::default().buffered_lines_limit(QUEUE).lossy(true).finish(target);
    let builder = fmt().with_max_level(level).log_internal_errors(false).with_writer(lines);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // The usual message of a panic goes to standard error directly, and would wait if no program reads it.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(Log(Some(log)))
}
