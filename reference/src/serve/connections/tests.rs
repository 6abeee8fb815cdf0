use std::sync::atomic::AtomicBool;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::*;

const PATIENCE: Duration = Duration::from_secs(3_600);

fn options() -> ServeOptions {
    ServeOptions {
        idle_timeout: Duration::from_millis(300),
        header_timeout: Duration::from_millis(500),
        send_timeout: Duration::from_millis(750),
        ..ServeOptions::default()
    }
}

/// Opens a connection that enters a phase after a moment and stays in it. How long it was in it when it was ended, if it was.
async fn time_in(phase: Phase, moment: Duration) -> Option<Duration> {
    let connections = Arc::new(Connections::default());
    let watching = tokio::spawn(Arc::clone(&connections).watch(options()));
    let (gone, ended) = oneshot::channel::<()>();
    connections.spawn(|progress| async move {
        let _gone = gone;
        progress.enter(Phase::Busy);
        sleep(moment).await;
        progress.enter(phase);
        std::future::pending::<()>().await;
    });
    sleep(moment).await;
    let began = Instant::now();
    let time = timeout(PATIENCE, ended).await.ok().map(|_| began.elapsed());
    watching.abort();
    time
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_when_it_has_been_in_a_phase_for_as_long_as_that_may_take_and_hardly_longer() {
    let options = options();
    for (phase, allowed) in [
        (Phase::Idle, options.idle_timeout),
        (Phase::Head, options.header_timeout),
        (Phase::Sending, options.send_timeout),
        (Phase::Flushing, options.send_timeout),
        (Phase::Lingering, LINGER),
    ] {
        // At the beginning of a tick, in the middle and at its end.
        for moment in [1, 50, 99, 100, 101, 1_999] {
            let time = time_in(phase, Duration::from_millis(moment)).await.expect("an end");
            assert!(time >= allowed, "{phase:?} after {moment} ms: {time:?}");
            assert!(time <= allowed + 2 * TICK, "{phase:?} after {moment} ms: {time:?}");
        }
    }
    assert_eq!(time_in(Phase::Busy, Duration::ZERO).await, None);
}

/// Opens a connection that is busy until some time after it was asked to stop. Whether it came to its own end.
fn open(connections: &Arc<Connections>, takes: Duration) -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    connections.spawn(|progress| async move {
        progress.enter(Phase::Busy);
        let stop = Notify::new();
        let work = async {
            stop.notified().await;
            sleep(takes).await;
            flag.store(true, Ordering::Relaxed);
        };
        progress.drive(work, |_| stop.notify_one()).await;
    });
    ended
}

#[tokio::test(start_paused = true)]
async fn stopping_lets_requests_in_flight_finish_and_cuts_off_what_takes_too_long() {
    let connections = Arc::new(Connections::default());
    let short = open(&connections, Duration::from_millis(300));
    let long = open(&connections, PATIENCE);
    tokio::task::yield_now().await;
    let began = Instant::now();
    connections.finish(Duration::from_secs(1)).await;
    assert!(short.load(Ordering::Relaxed) && !long.load(Ordering::Relaxed));
    let took = began.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(1) + 2 * STOPPING_LOOK).contains(&took), "{took:?}");
    tokio::task::yield_now().await;
    assert!(connections.lock().is_empty(), "one was not ended, or not struck off the list");
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_no_longer_than_it_must() {
    let connections = Arc::new(Connections::default());
    let request = open(&connections, Duration::from_millis(300));
    // Its response is out, and only the client does not close: there is nothing to wait for.
    connections.spawn(|progress| async move {
        progress.enter(Phase::Lingering);
        std::future::pending::<()>().await;
    });
    tokio::task::yield_now().await;
    let began = Instant::now();
    connections.finish(PATIENCE).await;
    assert!(request.load(Ordering::Relaxed));
    assert!(began.elapsed() < Duration::from_millis(300) + 2 * STOPPING_LOOK, "{:?}", began.elapsed());
    tokio::task::yield_now().await;
    assert!(connections.lock().is_empty());
}
