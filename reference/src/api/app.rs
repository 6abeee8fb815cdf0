//! The application: everything that requests share, independent of how they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;

use crate::api::auth::KeyRing;
use crate::api::body_cache::BodyCache;
use crate::api::deprecation::DeprecationHeaders;
use crate::api::docs::Docs;
use crate::api::openapi;
use crate::api::routes;
use crate::domain::clock::Clock;
use crate::domain::rate_limit::BanPolicy;
use crate::store::{Catalogue, Store, StoreError};

/// What one request may cost the server.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The longest body that is read, in bytes.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub request_timeout: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_body: 64 * 1024, request_timeout: Duration::from_secs(10) }
    }
}

/// How the application is set up.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The path below which the API lives, without a slash at its end; empty for the root.
    pub base_path: String,
    /// Where the time comes from.
    pub clock: Clock,
    /// When and for how long a key is banned.
    pub ban: BanPolicy,
    /// What one request may cost.
    pub limits: RequestLimits,
}

/// The application.
pub struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) keys: KeyRing,
    pub(crate) clock: Clock,
    pub(crate) ban: BanPolicy,
    pub(crate) limits: RequestLimits,
    pub(crate) base_path: String,
    pub(crate) deprecation: DeprecationHeaders,
    pub(crate) bodies: BodyCache,
    pub(crate) openapi: Bytes,
    pub(crate) docs: Docs,
    requests: AtomicU64,
}

impl App {
    /// Sets the application up on a store.
    #[must_use]
    pub fn new(store: Store, options: AppOptions) -> Self {
        let store = Arc::new(store);
        Self {
            keys: KeyRing::new(Arc::clone(&store)),
            store,
            clock: options.clock,
            ban: options.ban,
            limits: options.limits,
            deprecation: DeprecationHeaders::new(&options.base_path),
            docs: Docs::new(&options.base_path),
            openapi: openapi::render(&openapi::document(&options.base_path)).into(),
            base_path: options.base_path,
            bodies: BodyCache::default(),
            requests: AtomicU64::new(1),
        }
    }

    /// The keys of this server.
    #[must_use]
    pub fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// The database of this server.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The clock of this server.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What one request may cost.
    #[must_use]
    pub fn limits(&self) -> RequestLimits {
        self.limits
    }

    /// The path below which the API lives, without a slash at its end; empty for the root.
    #[must_use]
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Whether a path belongs to the API, and so needs a key.
    #[must_use]
    pub fn serves(&self, path: &str) -> bool {
        routes::in_api(&self.base_path, path)
    }

    /// Puts another catalogue in the place of the present one.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the present catalogue stays, unless it is [`StoreError::Unconfirmed`] or [`StoreError::Unknown`].
    pub async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        self.store.replace(catalogue).await?;
        self.bodies.clear();
        Ok(())
    }

    /// A number for a request that no other request of this process has.
    #[must_use]
    pub fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}
