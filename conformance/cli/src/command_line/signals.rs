//! SIGINT (Ctrl-C) and SIGTERM: the first signal ends the run in good order, the second ends the process.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
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
        // From here on, no signal is missed.
        let sources = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let (Ok(mut interrupts), Ok(mut terminations)) = sources else { return Signals { code, watching: None } };
        let watching = tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    _ = interrupts.recv() => ExitCode::Interrupted,
                    _ = terminations.recv() => ExitCode::Terminated,
                }
            };
            let first = next().await;
            seen.get_or_init(|| first);
            report();
            interrupt.raise();
            let code = next().await;
            last.await;
            std::process::exit(code.number().into());
        });
        Signals { code, watching: Some(watching) }
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
