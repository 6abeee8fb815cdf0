//! The application: the state that requests share, independent of sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;

use crate::api::auth::KeyRing;
use crate::api::body_cache::BodyCache;
use crate::api::deprecation::DeprecationHeaders;
use crate::api::openapi;
use crate::api::routes;
use crate::domain::clock::Clock;
use crate::domain::rate_limit::BanPolicy;
use crate::store::{Catalogue, Store, StoreError};

/// The bounds on one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The longest body that is read, in bytes: 64 KiB.
    pub max_body: usize,
    /// The longest time that a body may take to arrive, 10 s by default.
    pub request_timeout: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_body: 64 * 1024, request_timeout: Duration::from_secs(10) }
    }
}

/// The settings of the application.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The path below which the API lives, without a slash at its end; empty for the root.
    pub base_path: String,
    /// The clock for windows, dates and the removal.
    pub clock: Clock,
    /// The number of refusals after which a key is banned, and the length of the ban.
    pub ban: BanPolicy,
    /// The bounds on one request.
    pub limits: RequestLimits,
}

/// The state that all requests share.
pub struct App {
    /// The database with animals, keys and usage.
    pub store: Arc<Store>,
    /// The API keys in force, with their usage.
    pub keys: KeyRing,
    /// The clock for windows, dates and the removal.
    pub clock: Clock,
    /// The number of refusals after which a key is banned, and the length of the ban.
    pub ban: BanPolicy,
    /// The bounds on one request.
    pub limits: RequestLimits,
    /// The path below which the API lives, without a slash at its end; empty for the root.
    pub base_path: String,
    pub(crate) deprecation: DeprecationHeaders,
    pub(crate) bodies: BodyCache,
    pub(crate) openapi: Bytes,
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
            openapi: openapi::render(&openapi::document(&options.base_path)).into(),
            base_path: options.base_path,
            bodies: BodyCache::default(),
            requests: AtomicU64::new(1),
        }
    }

    /// Returns true if a path belongs to the API, so that its requests need a key.
    #[must_use]
    pub fn serves(&self, path: &str) -> bool {
        routes::in_api(&self.base_path, path)
    }

    /// Replaces the present catalogue.
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
