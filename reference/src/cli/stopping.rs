//! Ending the process: on which signals, and no later than when.
//!
//! This happens in a thread with a small runtime of its own. Storage that hangs can hold up every thread of the
//! server's runtime, and its timers with them; a process that is to end must not depend on those.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::outcome::report;

/// The exit code of a process that ended before its work was done.
const UNFINISHED: i32 = 4;

/// How long the last words may take: a standard error that nobody reads must not keep the process.
const LAST_WORDS: Duration = Duration::from_millis(200);

const ASKED_AGAIN: &str =
    "ended at once on a second signal: requests in flight were cut off; every acknowledged animal is stored";
const OUT_OF_TIME: &str = "ended without waiting any longer: the storage did not finish within the grace period and 3 seconds; \
                           every acknowledged animal is stored, the last requests of each key may not be counted";

/// Listens for SIGTERM, SIGINT and SIGHUP from now on. The returned channel reports the first one that asks to stop, by its name.
/// From then on the process ends, with a message and the exit code 4, on the second one, and after `bound`; a server that
/// is done before that just ends it.
///
/// # Errors
///
/// The error of the system when signals or a thread cannot be had.
pub(super) fn listen(program: &'static str, bound: Duration) -> io::Result<oneshot::Receiver<&'static str>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut terminate, mut interrupt, mut hangup) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?)
    };
    let (stop, stopped) = oneshot::channel();
    let mut asked_to_stop = async move || {
        loop {
            tokio::select! {
                _ = terminate.recv() => return "SIGTERM",
                _ = interrupt.recv() => return "Ctrl-C",
                // A terminal sends it when it goes: a server outlives that.
                _ = hangup.recv() => tracing::info!("SIGHUP is ignored: send SIGTERM to stop"),
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let message = runtime.block_on(async move {
            // Nobody listens any more when the server has ended by itself.
            let _ = stop.send(asked_to_stop().await);
            let again = tokio::time::timeout(bound, asked_to_stop()).await;
            if again.is_ok() { ASKED_AGAIN } else { OUT_OF_TIME }
        });
        report(format!("{program}: {message}\n"), LAST_WORDS);
        std::process::exit(UNFINISHED);
    })?;
    Ok(stopped)
}
