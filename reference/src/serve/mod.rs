//! Serving: how a server is put together, its connections, and the order in which everything stops.

pub(crate) mod embedded;
pub(crate) mod listener;
pub mod tls;

use std::{error::Error, io, path::PathBuf, sync::Arc, time::Duration};

use axum::body::Body;
use hyper::{Request, body::Incoming, server::conn::http1};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tempfile::TempDir;
use tokio::sync::{Semaphore, oneshot};
use tokio::{task::JoinSet, time::timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::api::app::{App, AppOptions};
use crate::api::extension::{Answers, Extended, Extension, ExtensionError, Started};
use crate::api::keys::{KeyError, StartKey};
use crate::api::routes;
use crate::store::{OpenError, Store, private_folder};
use listener::{Address, Listener, Stream};
use tls::Tls;

/// The interval at which usage is stored in the database. A kill or a power cut loses the usage of one interval.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// The time for which a stopping server tries to store usage.
pub(crate) const LAST_SAVE: Duration = Duration::from_secs(3);

/// The length in bytes up to which the head of a request is read in any case. hyper refuses a head that is incomplete at this length.
const MAX_HEAD: usize = 32 * 1024;

/// Everything that is decided before a server is built.
pub(crate) struct Settings {
    /// The database; without one, a temporary one.
    pub(crate) db: Option<PathBuf>,
    pub(crate) app: AppOptions,
    pub(crate) listen: Address,
    pub(crate) tls: Tls,
    /// The keys that the server has from its start on.
    pub(crate) keys: Vec<StartKey>,
}

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database, or a file for HTTPS, could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server cannot listen on its address.
    #[error("cannot listen on {0}: {1}")]
    Listen(Address, io::Error),
    /// A key could not be put in force.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The extension of the server did not start.
    #[error(transparent)]
    Extension(ExtensionError),
}

/// A server that has its address but does not accept connections yet.
pub(crate) struct Server {
    /// The application, its keys in the order of the settings, and the base URL.
    pub(crate) started: Started,
    /// The certificate of the authority to trust, if it was made.
    pub(crate) authority: Option<PathBuf>,
    pub(crate) extended: Extended,
    listener: Listener,
    tls: Option<TlsAcceptor>,
    /// The folder of the authority's certificate beside a temporary database.
    folder: Option<TempDir>,
}

/// Builds a server with an extension: the program and an embedded server alike.
pub(crate) async fn build(mut settings: Settings, mut extension: impl Extension) -> Result<Server, StartError> {
    extension.set_up(&mut settings.app);
    let Settings { db, app, listen, tls, keys } = settings;
    let store = db.as_deref().map_or_else(Store::temporary, Store::open)?;
    let app = Arc::new(App::new(store, app));
    let cannot_listen = |error| StartError::Listen(listen.clone(), error);
    let listener = Listener::bind(&listen).await.map_err(cannot_listen)?;
    let (mut authority, mut folder) = (None, None);
    let acceptor = match &tls {
        Tls { tls_cert: Some(certificate), tls_key: Some(key), .. } => Some(tls::from_files(certificate, key)?),
        Tls { tls_self_signed: true, .. } => {
            let path = match &db {
                Some(db) => db.with_extension("ca.pem"),
                None => folder.insert(private_folder()?).path().join("ca.pem"),
            };
            Some(tls::self_signed(listen.ip(), authority.insert(path))?)
        }
        _ => None,
    };
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    let base_url = format!("{scheme}://{}{}", listener.authority().map_err(cannot_listen)?, app.options.base_path);
    // Keys come last, so that a start that fails changes none.
    let keys = StartKey::put_in_force(&keys, &app.store.keys, app.options.clock.now())?;
    let started = Started { app: Arc::clone(&app), keys, base_url };
    let extended = extension.start(started.clone()).await.map_err(StartError::Extension)?;
    Ok(Server { started, authority, extended, listener, tls: acceptor, folder })
}

impl Server {
    /// Serves until `stop` completes. Then no connection is accepted any more, requests in flight finish (for as long as the grace
    /// lasts), and the usage of keys is stored. Returns the output of `stop`.
    pub(crate) async fn run<T>(self, stop: impl Future<Output = T>) -> T {
        let Self { started: Started { app, .. }, extended, listener, tls, folder: _until_the_end, .. } = self;
        let (end_saving, ended) = oneshot::channel();
        let saving = tokio::spawn(save_usage(Arc::clone(&app), ended));
        let (entrance, mut connections, graceful) = (routes::router(&app), JoinSet::new(), GracefulShutdown::new());
        let places = Arc::new(Semaphore::new(app.options.max_connections as usize));

        let mut stop = std::pin::pin!(stop);
        let stopped = loop {
            let accepted = async {
                // The semaphore is never closed.
                let place = Arc::clone(&places).acquire_owned().await;
                (listener.accept().await, place)
            };
            let (stream, place) = tokio::select! {
                biased;
                stopped = &mut stop => break stopped,
                accepted = accepted => accepted,
            };
            // Connections that have ended are forgotten.
            while connections.try_join_next().is_some() {}
            let (answers, tls) = ((extended.around)(entrance.clone()), tls.clone());
            let (patience, shutdown) = (app.options.header_timeout, graceful.watcher());
            connections.spawn(async move {
                if let Err(error) = serve_connection(stream, tls, answers, patience, shutdown).await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(place);
            });
        };

        drop(listener);
        if timeout(app.options.grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("some connections did not end in time and are cut off");
        }
        connections.shutdown().await;
        drop(end_saving);
        let _ = saving.await;
        // Ends once the queue is empty: one commit for each batch that waits.
        app.store.writer.stop();
        stopped
    }
}

/// Serves a connection until its end, or until `shutdown` tells it to end after the request in progress. `patience` is the longest time
/// for the TLS handshake, for the head of a request, and for which the client may read nothing.
///
/// hyper itself answers bytes that are no request. Its timer for the head of a request runs from the end of the response before, so it
/// bounds idle connections too. A client that reads nothing of a response holds its connection for no longer.
async fn serve_connection(
    mut stream: Box<dyn Stream>,
    tls: Option<TlsAcceptor>,
    answers: Answers,
    patience: Duration,
    shutdown: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    if let Some(acceptor) = tls {
        stream = Box::new(timeout(patience, acceptor.accept(stream)).await??);
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let answers = answers.map_request(|request: Request<Incoming>| request.map(Body::new));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(answers));
    Ok(shutdown.watch(connection).await?)
}

/// Stores the usage of keys at intervals until the channel is closed, and then for the last time. The last save finds room in the queue
/// sooner or later, because no client adds animals any more.
async fn save_usage(app: Arc<App>, mut ended: oneshot::Receiver<()>) {
    while timeout(SAVE_EVERY, &mut ended).await.is_err() {
        if let Err(error) = app.keys.save_usage().await {
            tracing::warn!(%error, "key usage could not be saved; retrying");
        }
    }
    let last_save = async {
        while app.keys.save_usage().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(LAST_SAVE, last_save).await.is_err() {
        tracing::error!("the last usage could not be saved: the next start does not know it");
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};

    use super::*;
    use crate::domain::{clock::Clock, plan::Plan};
    use crate::store::StoreError;

    #[tokio::test]
    async fn what_keys_have_used_is_written_down_at_last_when_there_is_room_again() {
        let store = Store::temporary().expect("a store");
        let (number, key) = crate::api::keys::issue(&store.keys, "test", Plan::Free, 0).expect("a key");
        let app = Arc::new(App::new(store, AppOptions::new(Clock::frozen(600))));
        let mut request = Request::builder().uri("/v1/pets").header("host", "test");
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
        let request = request.body(Body::empty()).expect("a request");
        let answer = routes::router(&app).oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);

        // While another process has the database, the writer waits with a batch, and the queue gets full.
        app.store.keys.lock();
        let pet = || crate::domain::wire::NewPet::parse(br#"{"name":"Rex","categoryId":1}"#).expect("an animal");
        let mut refused_in_a_row = 0;
        while refused_in_a_row < 100 {
            let created = tokio::time::timeout(Duration::ZERO, app.store.create(pet())).await;
            refused_in_a_row =
                if matches!(created, Ok(Err(StoreError::Unavailable(_)))) { refused_in_a_row + 1 } else { 0 };
        }
        // The first attempt finds no room; then there is some again.
        tokio::join!(save_usage(Arc::clone(&app), oneshot::channel().1), async { app.store.keys.unlock() });
        let hash = crate::api::keys::hash(key.reveal());
        let (id, _, usage) = app.store.key_in_force(&hash).expect("a database").expect("its key");
        assert_eq!((id, usage.in_minute), (number, 1));
    }
}
