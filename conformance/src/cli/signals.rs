//! Ctrl-C, and the request of a CI runner to end: the first ends the run in good order, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::task::JoinHandle;

use crate::interrupt::Interrupt;

/// Watches for signals until it is dropped.
pub(super) struct Signals {
    code: Arc<AtomicU8>,
    /// None where signals cannot be watched for: they end the process then, as they always did.
    watching: Option<JoinHandle<()>>,
}

impl Signals {
    /// Raises the interrupt at the first signal, after telling of it. At the second, the process ends once `last` is done.
    pub(super) fn watch(
        interrupt: Interrupt,
        tell: impl Fn() + Send + 'static,
        last: impl Future<Output = ()> + Send + 'static,
    ) -> Signals {
        let code = Arc::new(AtomicU8::new(0));
        let seen = Arc::clone(&code);
        let watching = Source::open().map(|mut source| {
            tokio::spawn(async move {
                seen.store(source.next().await, Ordering::Relaxed);
                tell();
                interrupt.raise();
                let code = source.next().await;
                last.await;
                std::process::exit(code.into());
            })
        });
        Signals { code, watching }
    }

    /// The exit code of a run that was interrupted.
    pub(super) fn code(&self) -> Option<u8> {
        Some(self.code.load(Ordering::Relaxed)).filter(|code| *code != 0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

/// The exit code after SIGINT, by custom: 128 and the number of the signal.
const INTERRUPTED: u8 = 128 + 2;

/// Where signals come from.
#[cfg(unix)]
struct Source {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Source {
    /// From here on no signal is missed.
    fn open() -> Option<Source> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        Some(Source { interrupt: interrupt.ok()?, terminate: terminate.ok()? })
    }

    /// Waits for a signal; the exit code that tells of it.
    async fn next(&mut self) -> u8 {
        const TERMINATED: u8 = 128 + 15;
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
        }
    }
}

/// Where signals come from.
#[cfg(not(unix))]
struct Source;

#[cfg(not(unix))]
impl Source {
    fn open() -> Option<Source> {
        Some(Source)
    }

    /// Waits for Ctrl-C; the exit code that tells of it.
    async fn next(&mut self) -> u8 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => INTERRUPTED,
            Err(_) => std::future::pending().await,
        }
    }
}
