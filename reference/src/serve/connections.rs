//! All open connections: timing them out, and ending them when the server stops.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::ServeOptions;
use super::connection::{Phase, Progress, Ticks};

/// How exactly timeouts are kept.
const TICK: Duration = Duration::from_millis(100);

/// How long a closed connection may go on sending what nobody will read.
const LINGER: Duration = Duration::from_secs(2);

/// How often a stopping server looks whether its connections have ended.
const STOPPING_LOOK: Duration = Duration::from_millis(5);

struct Open {
    progress: Arc<Progress>,
    task: AbortHandle,
}

/// The connections of one server.
#[derive(Default)]
pub(super) struct Connections {
    ticks: Arc<Ticks>,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

impl Connections {
    /// Runs a connection in a task of its own.
    pub(super) fn spawn<F>(self: &Arc<Self>, connection: impl FnOnce(Arc<Progress>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::new(Progress::new(Arc::clone(&self.ticks)));
        let leaving = Leaving { connections: Arc::clone(self), number };
        let connection = connection(Arc::clone(&progress));
        // Held until the connection is entered, so that it cannot leave before.
        let mut open = self.lock();
        let task = tokio::spawn(async move {
            let _leaving = leaving;
            connection.await;
        });
        open.insert(number, Open { progress, task: task.abort_handle() });
    }

    /// Ends connections that have been in one phase for too long.
    pub(super) async fn watch(self: Arc<Self>, options: ServeOptions) {
        let mut interval = tokio::time::interval(TICK);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let now = self.ticks.advance();
            for open in self.lock().values() {
                let (phase, since) = open.progress.phase();
                let allowed = match phase {
                    Phase::Idle => options.idle_timeout,
                    Phase::Head => options.header_timeout,
                    Phase::Busy => continue,
                    Phase::Sending | Phase::Flushing => options.send_timeout,
                    Phase::Lingering => LINGER,
                };
                // More ticks than that, because the phase may have begun at the very end of its own.
                if u128::from(now.saturating_sub(since)) > allowed.as_millis().div_ceil(TICK.as_millis()) {
                    open.task.abort();
                }
            }
        }
    }

    /// Lets requests in flight finish within `grace`, then ends what is left.
    pub(super) async fn finish(&self, grace: Duration) {
        for open in self.lock().values() {
            open.progress.stop();
        }
        let deadline = tokio::time::Instant::now() + grace;
        while self.lock().values().any(|open| open.progress.phase().0 != Phase::Lingering) {
            if tokio::time::Instant::now() >= deadline {
                tracing::warn!("some connections did not end in time and are cut off");
                break;
            }
            tokio::time::sleep(STOPPING_LOOK).await;
        }
        for open in self.lock().values() {
            open.task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Strikes a connection off the list, however its task ends.
struct Leaving {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
