//! Ending the process: on which signals, and no later than when.
//!
//! This happens in a thread with a small runtime of its own. Storage that hangs can hold up every thread of the
//! server's runtime, and its timers with them; a process that is to end must not depend on those.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::LAST_SAVE;
use crate::commands::outcome::report;

/// The exit code of a process that ended before its work was done.
const UNFINISHED: i32 = 4;

/// How long the last words may take: a standard error that nobody reads must not keep the process.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Why a process ends before its work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    /// Somebody asked for it a second time.
    AskedAgain,
    /// The grace period has passed, and the time for the last writes too.
    OutOfTime,
}

impl Unfinished {
    fn message(self) -> &'static str {
        match self {
            Self::AskedAgain => {
                "ended at once on a second signal: requests in flight were cut off; every acknowledged animal is stored"
            }
            Self::OutOfTime => {
                "ended without waiting any longer: the storage did not finish within the grace period and 3 seconds; \
                 every acknowledged animal is stored, the last requests of each key may not be counted"
            }
        }
    }
}

/// What signals ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Stop(&'static str),
    /// SIGHUP, which a terminal sends when it goes: a server outlives that.
    Hangup,
}

/// Listens for SIGTERM, SIGINT and SIGHUP from now on. The returned channel reports the first one that asks to stop, by its name.
/// From then on the process ends, with a message and the exit code 4, on the second one, and when `grace` and the
/// time for the last writes have passed; whoever is done before that just ends it.
///
/// # Errors
///
/// What the system says when signals or a thread cannot be had.
pub fn listen(program: &'static str, grace: Duration) -> io::Result<oneshot::Receiver<&'static str>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut terminate, mut interrupt, mut hangup) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?)
    };
    let (stop, stopped) = oneshot::channel();
    let next = async move || {
        tokio::select! {
            _ = terminate.recv() => Request::Stop("SIGTERM"),
            _ = interrupt.recv() => Request::Stop("Ctrl-C"),
            _ = hangup.recv() => Request::Hangup,
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let unfinished = runtime.block_on(attend(next, stop, grace + LAST_SAVE));
        report(format!("{program}: {}\n", unfinished.message()), LAST_WORDS);
        std::process::exit(UNFINISHED);
    })?;
    Ok(stopped)
}

/// Waits for the first request to stop, passes it on, and returns when the process must end in spite of its work.
async fn attend(
    mut next: impl AsyncFnMut() -> Request,
    stop: oneshot::Sender<&'static str>,
    bound: Duration,
) -> Unfinished {
    // Nobody listens any more when the server has ended by itself.
    let _ = stop.send(stopping_signal(&mut next).await);
    match tokio::time::timeout(bound, stopping_signal(&mut next)).await {
        Ok(_) => Unfinished::AskedAgain,
        Err(_elapsed) => Unfinished::OutOfTime,
    }
}

async fn stopping_signal(next: &mut impl AsyncFnMut() -> Request) -> &'static str {
    loop {
        match next().await {
            Request::Stop(name) => return name,
            Request::Hangup => tracing::info!("SIGHUP is ignored: send SIGTERM to stop"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tokio::time::{Instant, sleep};

    use super::*;

    const BOUND: Duration = Duration::from_secs(5);

    /// What signals that arrive one second after another lead to, and when.
    async fn after(signals: &[Request]) -> (Unfinished, u64, Option<u64>) {
        let mut signals: VecDeque<Request> = signals.iter().copied().collect();
        let next = async move || {
            sleep(Duration::from_secs(1)).await;
            match signals.pop_front() {
                Some(signal) => signal,
                None => std::future::pending().await,
            }
        };
        let (stop, stopped) = oneshot::channel();
        let began = Instant::now();
        let passed_on = tokio::spawn(async move { stopped.await.ok().map(|_| began.elapsed().as_secs()) });
        let unfinished = attend(next, stop, BOUND).await;
        (unfinished, began.elapsed().as_secs(), passed_on.await.expect("no panic"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_request_to_stop_ends_the_process_at_once_and_the_bound_ends_it_at_last() {
        use Request::{Hangup, Stop};
        let [term, int] = [Stop("SIGTERM"), Stop("Ctrl-C")];
        assert_eq!(after(&[term]).await, (Unfinished::OutOfTime, 6, Some(1)));
        assert_eq!(after(&[term, term]).await, (Unfinished::AskedAgain, 2, Some(1)));
        assert_eq!(after(&[int, term]).await, (Unfinished::AskedAgain, 2, Some(1)));
        assert_eq!(after(&[Hangup, Hangup, term]).await, (Unfinished::OutOfTime, 8, Some(3)));
        assert_eq!(after(&[term, Hangup, int]).await, (Unfinished::AskedAgain, 3, Some(1)));
    }

    #[test]
    fn the_message_names_the_bound_that_is_kept() {
        let seconds = format!("{} seconds", LAST_SAVE.as_secs());
        assert!(Unfinished::OutOfTime.message().contains(&seconds));
    }
}
