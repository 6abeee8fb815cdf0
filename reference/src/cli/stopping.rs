//! The end of the process: its signals, and the longest time that it may take.
//!
//! Signals are received in a thread with a small runtime of its own. Storage that hangs can hold up every thread of the
//! server's runtime, and its timers with them; the end of a process must not depend on those threads.

use std::io::{self, Write};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::{sync::oneshot, time::timeout};

/// The exit code of a process that ended before its work was done.
const UNFINISHED: i32 = 4;

/// The longest time for the last message: a standard error that no program reads must not keep the process.
const LAST_WORDS: Duration = Duration::from_millis(200);

const ASKED_AGAIN: &str =
    "ended at once on a second signal: requests in flight were cut off; every acknowledged animal is stored";
const OUT_OF_TIME: &str = "ended without waiting any longer: the storage did not finish within the grace period and 3 seconds; \
                           every acknowledged animal is stored, the last requests of each key may not be counted";

/// Listens for SIGTERM, SIGINT and SIGHUP from now on. The returned channel reports the name of the first signal that asks to stop.
/// After it the process ends, with a message and the exit code 4, on a second such signal or after `bound`, unless the server has
/// ended before.
///
/// # Errors
///
/// The error of the system when signals or a thread cannot be had.
pub(super) fn listen(program: &'static str, bound: Duration) -> io::Result<oneshot::Receiver<&'static str>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?]
    };
    let (stop, stopped) = oneshot::channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            // The receiver is gone when the server has ended by itself.
            let _ = stop.send(asked_to_stop(&mut signals).await);
            let again = timeout(bound, asked_to_stop(&mut signals)).await;
            let message = if again.is_ok() { ASKED_AGAIN } else { OUT_OF_TIME };
            let write = move || io::stderr().write_all(format!("{program}: {message}\n").as_bytes());
            let _ = timeout(LAST_WORDS, tokio::task::spawn_blocking(write)).await;
            std::process::exit(UNFINISHED);
        });
    })?;
    Ok(stopped)
}

/// Waits for SIGTERM or SIGINT, and returns its name.
async fn asked_to_stop([terminate, interrupt, hangup]: &mut [Signal; 3]) -> &'static str {
    loop {
        tokio::select! {
            _ = terminate.recv() => return "SIGTERM",
            _ = interrupt.recv() => return "Ctrl-C",
            // A terminal sends SIGHUP when it closes, and a server outlives its terminal.
            _ = hangup.recv() => tracing::info!("SIGHUP is ignored: send SIGTERM to stop"),
        }
    }
}
