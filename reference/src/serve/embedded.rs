//! A whole server inside another program: on a loopback port or a Unix socket, with a temporary database.

use tokio::{sync::oneshot, task::JoinHandle};

use super::{Settings, StartError, build, listener::Address, tls::Tls};
use crate::api::app::AppOptions;
use crate::api::extension::{Extension, Plain, Started};
use crate::api::keys::{ApiKey, StartKey};
use crate::domain::{clock::Clock, plan::Plan};

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
    pub fn new(plan: Plan, clock: Clock) -> Self {
        Self { plan, clock, listen: Address::Tcp(([127, 0, 0, 1], 0).into()) }
    }
}

/// A running server. It stops when [`Embedded::shutdown`] is called, or when it is dropped.
#[derive(Debug)]
pub struct Embedded {
    base_url: String,
    keys: Vec<(i64, ApiKey)>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Embedded {
    /// Starts a server in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StartError`] when there is no place for the database, or the address cannot be had.
    pub async fn start(options: EmbeddedOptions) -> Result<Self, StartError> {
        Self::start_with(options, Plain).await
    }

    /// Starts a server with an extension in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StartError`] when there is no place for the database, the address cannot be had, or the extension does not start.
    pub async fn start_with(options: EmbeddedOptions, extension: impl Extension) -> Result<Self, StartError> {
        let keys = vec![StartKey { plan: options.plan, given: None }; 2];
        let (app, listen) = (AppOptions::new(options.clock), options.listen);
        let server = build(Settings { db: None, app, listen, tls: Tls::default(), keys }, extension).await?;
        let Started { base_url, keys, .. } = server.started.clone();
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(server.run(async {
            // A dropped sender stops the server too.
            let _ = stopped.await;
        }));
        Ok(Self { base_url, keys, stop, server })
    }

    /// The base address of the API, such as `http://127.0.0.1:40123/v1`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The key to send as `Authorization: Bearer …`.
    pub fn api_key(&self) -> &str {
        self.keys[0].1.reveal()
    }

    /// Another key of the same plan, with a limit of its own.
    pub fn second_api_key(&self) -> &str {
        self.keys[1].1.reveal()
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
