//! SIGINT (Ctrl-C) and SIGTERM: the first signal ends the run in good order, the second ends the process.

use std::sync::{Arc, OnceLock};

use tokio::task::JoinHandle;

use crate::exit_code::ExitCode;
use animal_store_conformance::Interrupt;

/// Watches signals until it is dropped.
pub(super) struct Signals {
    code: Arc<OnceLock<ExitCode>>,
    /// The task that watches, or `None` if signals cannot be watched: then they end the process, as is the default.
    watching: Option<JoinHandle<()>>,
}

impl Signals {
    /// Calls `report` and raises the interrupt at the first signal. At the second, the process ends once `last` is done.
    pub(super) fn watch(
        interrupt: Interrupt,
        report: impl Fn() + Send + 'static,
        last: impl Future<Output = ()> + Send + 'static,
    ) -> Signals {
        let code = Arc::new(OnceLock::new());
        let seen = Arc::clone(&code);
        let watching = Source::open().map(|mut source| {
            tokio::spawn(async move {
                let first = source.next().await;
                seen.get_or_init(|| first);
                report();
                interrupt.raise();
                let code = source.next().await;
                last.await;
                std::process::exit(code.number().into());
            })
        });
        Signals { code, watching }
    }

    /// The exit code of a run that was interrupted, if it was.
    pub(super) fn code(&self) -> Option<ExitCode> {
        self.code.get().copied()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

/// The source of signals.
struct Source {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Source {
    /// Begins to receive signals: from here on, none is missed.
    fn open() -> Option<Source> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        Some(Source { interrupt: interrupt.ok()?, terminate: terminate.ok()? })
    }

    /// Waits for a signal, and returns the exit code that goes with it.
    async fn next(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.interrupt.recv() => ExitCode::Interrupted,
            _ = self.terminate.recv() => ExitCode::Terminated,
        }
    }
}
