//! A whole server inside another program: on a loopback port or a Unix socket, with a temporary database.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api::app::{App, AppOptions, RequestLimits};
use crate::api::extension::{Extended, Extension, ExtensionError, Plain, Started};
use crate::api::keys::{self, ApiKey, IssueError};
use crate::domain::clock::Clock;
use crate::domain::plan::Plan;
use crate::domain::rate_limit::BanPolicy;
use crate::serve::address::Address;
use crate::serve::{ServeOptions, Server};
use crate::store::{KeyStore, Location, OpenError, Store, StoreError};

const BASE_PATH: &str = "/v1";

/// Options of an embedded server.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The plan of the server's two keys.
    pub plan: Plan,
    /// The clock for windows, dates and the removal.
    pub clock: Clock,
    /// The address that the server listens on.
    pub listen: Address,
}

impl EmbeddedOptions {
    /// The options of a server on a free loopback port.
    #[must_use]
    pub fn new(plan: Plan, clock: Clock) -> Self {
        Self { plan, clock, listen: Address::LOOPBACK }
    }
}

/// The reason why an embedded server did not start.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The temporary database could not be created.
    #[error("no database: {0}")]
    Open(#[from] OpenError),
    /// The temporary database does not work.
    #[error("the database failed: {0}")]
    Store(#[from] StoreError),
    /// A key of the server could not be issued.
    #[error("no API key: {0}")]
    Key(#[from] IssueError),
    /// The server cannot listen on its address.
    #[error("cannot listen: {0}")]
    Listen(#[from] std::io::Error),
    /// The extension of the server did not start.
    #[error("the extension did not start: {0}")]
    Extension(ExtensionError),
}

/// A running server. It stops when [`Embedded::shutdown`] is called, or when it is dropped.
#[derive(Debug)]
pub struct Embedded {
    base_url: String,
    key: ApiKey,
    second_key: ApiKey,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Embedded {
    /// Starts a server in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError`] when there is no place for the database, or the address cannot be had.
    pub async fn start(options: EmbeddedOptions) -> Result<Self, EmbeddedError> {
        Self::start_with(options, Plain).await
    }

    /// Starts a server with an extension in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError`] when there is no place for the database, the address cannot be had, or the extension does not start.
    pub async fn start_with(options: EmbeddedOptions, mut extension: impl Extension) -> Result<Self, EmbeddedError> {
        let mut app_options = AppOptions {
            base_path: BASE_PATH.to_owned(),
            clock: options.clock,
            ban: BanPolicy::default(),
            limits: RequestLimits::default(),
        };
        extension.set_up(&mut app_options);
        let clock = app_options.clock.clone();
        let store = Store::open(&Location::Scratch)?;
        let issued = KeyStore::open_for(&store)?;
        let (_, key) = keys::issue(&issued, "embedded", options.plan, clock.now())?;
        let (_, second_key) = keys::issue(&issued, "embedded, second", options.plan, clock.now())?;
        let app = Arc::new(App::new(store, app_options));
        let server = Server::bind(&options.listen, Arc::clone(&app), None, ServeOptions::default())?;
        let base_url = server.base_url()?;
        let keys = vec![key.clone(), second_key.clone()];
        let started = Started { app, keys, base_url: base_url.clone() };
        let Extended { layer, .. } = extension.start(started).await.map_err(EmbeddedError::Extension)?;
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(server.run(layer, async {
            // A dropped sender stops the server too.
            let _ = stopped.await;
        }));
        Ok(Self { base_url, key, second_key, stop, server })
    }

    /// The base address of the API, such as `http://127.0.0.1:40123/v1`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The key to send as `Authorization: Bearer …`.
    #[must_use]
    pub fn api_key(&self) -> &str {
        self.key.reveal()
    }

    /// Another key of the same plan, with a limit of its own.
    #[must_use]
    pub fn second_api_key(&self) -> &str {
        self.second_key.reveal()
    }

    /// Stops the server: requests in flight finish, then the database goes away.
    pub async fn shutdown(self) {
        // The server may have ended by itself only in a panic, which its task then reports.
        let _ = self.stop.send(());
        if let Err(error) = self.server.await {
            tracing::error!(%error, "the embedded server ended in a panic");
        }
    }
}
