use std::sync::atomic::AtomicBool;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::*;

const PATIENCE: Duration = Duration::from_hours(1);

fn options() -> ServeOptions {
    ServeOptions {
        idle_timeout: Duration::from_millis(300),
        header_timeout: Duration::from_millis(500),
        send_timeout: Duration::from_millis(750),
        ..ServeOptions::default()
    }
}

fn connections() -> Arc<Connections> {
    Arc::new(Connections::new(&options()))
}

/// An address of a network that is only for documentation.
fn origin(number: u8) -> Origin {
    IpAddr::from([192, 0, 2, number]).into()
}

/// Opens a connection from somewhere.
async fn spawn<F>(connections: &Arc<Connections>, connection: impl FnOnce(Arc<Progress>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let place = connections.place(origin(1)).await.expect("a place");
    connections.spawn(place, connection);
}

/// Opens a connection from this origin that enters a phase and stays in it; returns what reports its end.
async fn stay(connections: &Arc<Connections>, from: Origin, phase: Phase) -> Option<oneshot::Receiver<()>> {
    let place = connections.place(from).await?;
    let (gone, ended) = oneshot::channel::<()>();
    connections.spawn(place, |progress| async move {
        let _gone = gone;
        progress.enter(phase);
        std::future::pending::<()>().await;
    });
    tokio::task::yield_now().await;
    Some(ended)
}

/// Opens a connection that enters a phase after a moment and stays in it. Returns how long it was in
/// it when it was ended, if it was.
async fn time_in(phase: Phase, moment: Duration) -> Option<Duration> {
    let connections = connections();
    let watching = tokio::spawn(Arc::clone(&connections).watch(options()));
    let (gone, ended) = oneshot::channel::<()>();
    spawn(&connections, |progress| async move {
        let _gone = gone;
        progress.enter(Phase::Busy);
        sleep(moment).await;
        progress.enter(phase);
        std::future::pending::<()>().await;
    })
    .await;
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

/// Opens a connection that is busy until some time after it was asked to stop. Returns whether it ended by itself.
async fn open(connections: &Arc<Connections>, takes: Duration) -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    spawn(connections, |progress| async move {
        progress.enter(Phase::Busy);
        let stop = Notify::new();
        let work = async {
            stop.notified().await;
            sleep(takes).await;
            flag.store(true, Ordering::Relaxed);
        };
        progress.drive(work, |_| stop.notify_one()).await;
    })
    .await;
    ended
}

#[tokio::test(start_paused = true)]
async fn stopping_lets_requests_in_flight_finish_and_cuts_off_what_takes_too_long() {
    let connections = connections();
    let short = open(&connections, Duration::from_millis(300)).await;
    let long = open(&connections, PATIENCE).await;
    tokio::task::yield_now().await;
    let began = Instant::now();
    connections.finish(Duration::from_secs(1)).await;
    assert!(short.load(Ordering::Relaxed) && !long.load(Ordering::Relaxed));
    let took = began.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(1) + 2 * STOPPING_LOOK).contains(&took), "{took:?}");
    tokio::task::yield_now().await;
    assert!(lock(&connections.open).is_empty(), "one was not ended, or not removed from the list");
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_no_longer_than_it_must() {
    let connections = connections();
    let request = open(&connections, Duration::from_millis(300)).await;
    // Its response is out, and only the client does not close: there is nothing to wait for.
    spawn(&connections, |progress| async move {
        progress.enter(Phase::Lingering);
        std::future::pending::<()>().await;
    })
    .await;
    tokio::task::yield_now().await;
    let began = Instant::now();
    connections.finish(PATIENCE).await;
    assert!(request.load(Ordering::Relaxed));
    assert!(began.elapsed() < Duration::from_millis(300) + 2 * STOPPING_LOOK, "{:?}", began.elapsed());
    tokio::task::yield_now().await;
    assert!(lock(&connections.open).is_empty());
}

/// Connections with few places, and the task that watches them.
fn few(max_connections: usize, max_connections_per_address: usize) -> (Arc<Connections>, tokio::task::JoinHandle<()>) {
    let options = ServeOptions {
        max_connections,
        max_connections_per_address,
        idle_timeout: PATIENCE,
        header_timeout: PATIENCE,
        send_timeout: PATIENCE,
        ..ServeOptions::default()
    };
    let connections = Arc::new(Connections::new(&options));
    let watching = tokio::spawn(Arc::clone(&connections).watch(options));
    (connections, watching)
}

#[tokio::test(start_paused = true)]
async fn where_all_places_are_taken_the_longest_idle_connection_makes_room() {
    let (connections, _watching) = few(4, 4);
    let mut busy = stay(&connections, origin(1), Phase::Busy).await.expect("a place");
    let mut longest = stay(&connections, origin(2), Phase::Idle).await.expect("a place");
    sleep(2 * SPARED).await;
    let mut shorter = stay(&connections, origin(3), Phase::Head).await.expect("a place");
    let mut sending = stay(&connections, origin(4), Phase::Sending).await.expect("a place");
    sleep(2 * SPARED).await;
    let _fifth = stay(&connections, origin(5), Phase::Busy).await.expect("a place");
    assert!(longest.try_recv() == Err(TryRecvError::Closed));
    assert!([&mut busy, &mut shorter, &mut sending].iter_mut().all(|it| it.try_recv() == Err(TryRecvError::Empty)));
    let _sixth = stay(&connections, origin(6), Phase::Busy).await.expect("a place");
    assert!(shorter.try_recv() == Err(TryRecvError::Closed), "it sent no request for long enough");
    let none = timeout(PATIENCE / 60, stay(&connections, origin(7), Phase::Busy)).await;
    assert!(none.is_err(), "while all are at work, another one waits");
    assert!([&mut busy, &mut sending].iter_mut().all(|it| it.try_recv() == Err(TryRecvError::Empty)));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_hardly_waited_for_its_client_is_spared_for_a_moment() {
    let (connections, _watching) = few(1, 1);
    let mut first = stay(&connections, origin(1), Phase::Head).await.expect("a place");
    let began = Instant::now();
    let _second = stay(&connections, origin(2), Phase::Head).await.expect("a place");
    assert!((SPARED..SPARED + 4 * TICK).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert!(first.try_recv() == Err(TryRecvError::Closed));
}

#[tokio::test(start_paused = true)]
async fn one_address_has_no_more_connections_than_its_bound_and_others_have_theirs() {
    let (connections, _watching) = few(100, 2);
    let mut idle = stay(&connections, origin(1), Phase::Idle).await.expect("a place");
    let mut busy = stay(&connections, origin(1), Phase::Busy).await.expect("a place");
    assert!(stay(&connections, origin(1), Phase::Busy).await.is_none(), "the idle one has hardly waited");
    let _other = stay(&connections, origin(2), Phase::Busy).await.expect("a place");
    sleep(2 * SPARED).await;
    let _third = stay(&connections, origin(1), Phase::Busy).await.expect("the place of the idle one");
    assert!(idle.try_recv() == Err(TryRecvError::Closed) && busy.try_recv() == Err(TryRecvError::Empty));
    assert!(stay(&connections, origin(1), Phase::Busy).await.is_none());
    connections.finish(Duration::ZERO).await;
    tokio::task::yield_now().await;
    assert!(lock(&connections.origins).is_empty(), "nothing is kept of addresses without a connection");
}

#[test]
fn one_client_of_ipv6_is_one_network() {
    let origin = |address: &str| Origin::from(address.parse::<IpAddr>().expect("an address"));
    assert_eq!(origin("2001:db8:1:2:3::4"), origin("2001:db8:1:2:ffff::"));
    assert_ne!(origin("2001:db8:1:2::"), origin("2001:db8:1:3::"));
    assert_eq!(origin("::ffff:192.0.2.7"), origin("192.0.2.7"));
    assert_ne!(origin("192.0.2.6"), origin("192.0.2.7"));
}
