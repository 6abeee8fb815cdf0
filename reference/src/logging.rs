//! Logs: on standard error, structured, and never with a key in them.
//!
//! That holds because nothing that a client sends is ever logged: no header, no body, no path and no
//! query, only the name of a route.
//!
//! A log never holds the server up and never ends it. Lines go through a bounded queue to a thread that writes them;
//! when they are not read, or the disk is full, lines are dropped and counted, and `/healthz` reports how many. (The
//! crate tracing-appender does nearly this, but does not count failed writes, and prints when it cannot shut down.)

use std::fs::File;
use std::io::{self, Write, stderr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::{LogFormat, LogLevel};

/// Lines that may wait to be written: some hundred KiB.
const QUEUE: usize = 4096;

/// How long the end of the program waits for its last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines for which there was no room, because those before were not read.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Lines that could not be written.
static FAILED: AtomicU64 = AtomicU64::new(0);

enum Message {
    Line(Vec<u8>),
    /// Answered when all lines before it are written.
    Flush(SyncSender<()>),
}

/// The log of the process. Lines that still wait are written when it is dropped.
pub(crate) struct Log(SyncSender<Message>);

/// Starts logging; without effect if the process already logs.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> io::Result<Log> {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // A descriptor of its own, because a write that never ends would hold the lock of `stderr()` for ever.
    let target = File::from(stderr().as_fd().try_clone_to_owned()?);
    let (queue, lines) = sync_channel(QUEUE);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(target, &lines))?;
    let log = Log(queue.clone());
    let builder = fmt().with_max_level(level).log_internal_errors(false).with_writer(move || Lines(queue.clone()));
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // The usual message of a panic goes to standard error directly, and would wait there.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(log)
}

/// How many lines were lost: dropped for want of room, and failed to be written.
pub(crate) fn lost_lines() -> (u64, u64) {
    (DROPPED.load(Ordering::Relaxed), FAILED.load(Ordering::Relaxed))
}

fn write_lines(mut target: impl Write, lines: &Receiver<Message>) {
    for message in lines {
        match message {
            Message::Line(line) => {
                if target.write_all(&line).is_err() {
                    FAILED.fetch_add(1, Ordering::Relaxed);
                }
            }
            Message::Flush(written) => {
                // The end of the program may have given up waiting.
                let _ = written.try_send(());
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_LINES;
        let (written, all_written) = sync_channel(1);
        while let Err(TrySendError::Full(_)) = self.0.try_send(Message::Flush(written.clone())) {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = all_written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

/// The queue, as the formatter wants it. Each event is one write.
struct Lines(SyncSender<Message>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.try_send(Message::Line(line.to_owned())).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
