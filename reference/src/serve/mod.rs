//! Serving: the listener, the connections, and the order in which everything stops.

pub mod address;
mod connection;
pub(crate) mod embedded;
mod listener;
pub mod open_files;
pub mod tls;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::api::app::App;
use crate::api::extension::Around;
use crate::api::router;
use crate::serve::address::Address;
use connection::Connection;
use listener::{Listener, Stream};

/// The interval at which usage is stored in the database. A kill or a power cut loses the usage of one interval.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// The time for which a stopping server tries to store usage.
pub const LAST_SAVE: Duration = Duration::from_secs(3);

/// The bounds and timeouts of connections.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// The number of connections that are served at a time, 4096 by default. Further ones wait to be accepted.
    pub max_connections: usize,
    /// The longest time for a TLS handshake, for the head of a request from the beginning of the connection or the end of the response
    /// before, and for which a client may read nothing of a response: 10 s by default.
    pub header_timeout: Duration,
    /// The longest time that requests in flight may take to finish when the server stops, 10 s by default.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { max_connections: 4096, header_timeout: Duration::from_secs(10), grace: Duration::from_secs(10) }
    }
}

/// A server that has its address but does not accept yet.
pub struct Server {
    listener: Listener,
    app: Arc<App>,
    tls: Option<TlsAcceptor>,
    options: ServeOptions,
}

impl Server {
    /// Takes the address, without accepting connections yet.
    ///
    /// # Errors
    ///
    /// The error of the system when the address cannot be had: another server listens there, or the path of a Unix socket names
    /// a file of another kind.
    pub fn bind(address: &Address, app: Arc<App>, tls: Option<TlsAcceptor>, options: ServeOptions) -> io::Result<Self> {
        Ok(Self { listener: Listener::bind(address)?, app, tls, options })
    }

    /// The base address of the API, with the port that was really taken; on a Unix socket its host is `localhost`.
    ///
    /// # Errors
    ///
    /// The error of the system when it does not know the address.
    pub fn base_url(&self) -> io::Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}{}", self.listener.authority()?, self.app.base_path))
    }

    /// Serves with a layer around the application until `stop` completes. Then no connection is accepted any more, requests in flight finish
    /// (for as long as the grace lasts), and the usage of keys is stored.
    pub async fn run(self, layer: impl Around, stop: impl Future<Output = ()>) {
        let Self { listener, app, tls, options } = self;
        let (end_saving, ended) = oneshot::channel();
        let saving = tokio::spawn(save_usage(Arc::clone(&app), ended));
        let (stopping, _) = watch::channel(false);
        let (entrance, mut connections) = (router::router(&app), JoinSet::new());
        let places = Arc::new(Semaphore::new(options.max_connections));

        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener, &places) => accepted,
            };
            // Connections that have ended are forgotten.
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(Some((stream, place))) => {
                    let answers = layer.layer(entrance.clone());
                    let connection = Connection { answers, tls: tls.clone(), options, stopping: stopping.subscribe() };
                    connections.spawn(async move {
                        connection.serve(stream).await;
                        drop(place);
                    });
                }
                Ok(None) => {}
                Err(error) => {
                    // Nothing but waiting helps when the process is out of files or memory.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }

        drop(listener);
        stopping.send_replace(true);
        let all_have_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(options.grace, all_have_ended).await.is_err() {
            tracing::warn!("some connections did not end in time and are cut off");
        }
        connections.shutdown().await;
        // A save that is under way ends first. The last save stores the usage that it could not store.
        drop(end_saving);
        let _ = saving.await;
        save_usage_at_last(&app).await;
        // Ends once the queue is empty: one commit for each batch that waits.
        app.store.stop_writing();
    }
}

/// A connection, and its place among those that are served.
type Placed = (Box<dyn Stream>, OwnedSemaphorePermit);

/// Waits for a free place, then for the next connection. `None` if the connection has ended already.
async fn accept(listener: &Listener, places: &Arc<Semaphore>) -> io::Result<Option<Placed>> {
    // The semaphore is never closed.
    let Ok(place) = Arc::clone(places).acquire_owned().await else { return Ok(None) };
    match listener.accept().await {
        Ok(stream) => Ok(Some((stream, place))),
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Stores the usage of keys at intervals, until the channel is closed.
async fn save_usage(app: Arc<App>, mut ended: oneshot::Receiver<()>) {
    let mut ticks = tokio::time::interval(SAVE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = &mut ended => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = app.keys.save_usage().await {
            tracing::warn!(%error, "key usage could not be saved; retrying");
        }
    }
}

/// Stores the usage of keys for the last time. The save finds room in the queue sooner or later, because no client adds animals any more.
async fn save_usage_at_last(app: &App) {
    let deadline = Instant::now() + LAST_SAVE;
    while let Err(error) = app.keys.save_usage().await {
        if Instant::now() >= deadline {
            tracing::error!(%error, "the last usage could not be saved: the next start does not know it");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;
    use crate::api::app::{AppOptions, RequestLimits};
    use crate::domain::clock::Clock;
    use crate::domain::plan::Plan;
    use crate::domain::rate_limit::BanPolicy;
    use crate::store::{KeyStore, Location, Store, StoreError};

    #[tokio::test]
    async fn what_keys_have_used_is_written_down_at_last_when_there_is_room_again() {
        let store = Store::open(&Location::Scratch).expect("a store");
        let key_store = KeyStore::open_for(&store).expect("a second connection");
        let (_, key) = crate::api::keys::issue(&key_store, "test", Plan::Free, 0).expect("a key");
        let options = AppOptions {
            base_path: String::new(),
            clock: Clock::frozen(600),
            ban: BanPolicy::default(),
            limits: RequestLimits::default(),
        };
        let app = Arc::new(App::new(store, options));
        let mut request = Request::builder().uri("/pets").header("host", "test");
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
        let request = request.body(Body::empty()).expect("a request");
        let answer = router::router(&app).oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);

        // While another process has the database, the writer waits with a batch, and the queue gets full.
        key_store.lock();
        let pet = || crate::domain::wire::NewPet::parse(br#"{"name":"Rex","categoryId":1}"#).expect("an animal");
        let mut refused_in_a_row = 0;
        while refused_in_a_row < 100 {
            let created = tokio::time::timeout(Duration::ZERO, app.store.create(pet())).await;
            refused_in_a_row = if matches!(created, Ok(Err(StoreError::QueueFull))) { refused_in_a_row + 1 } else { 0 };
        }
        // The first attempt finds no room; then there is some again.
        tokio::join!(save_usage_at_last(&app), async { key_store.unlock() });
        assert_eq!(key_store.list().expect("the keys")[0].usage.in_minute, 1);
    }
}
