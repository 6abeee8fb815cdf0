//! The application: the state that requests share, independent of sockets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{sync::Arc, time::Duration};

use axum::http::HeaderValue;
use clap::Parser;

use crate::api::auth::KeyRing;
use crate::api::body_cache::{self, BodyCache};
use crate::domain::{clock::Clock, rate_limit::BanPolicy};
use crate::store::{Catalogue, Store, StoreError};

/// The path of the health check, which needs no key.
pub(crate) const HEALTH: &str = "/healthz";

/// The path of the interface description, which needs no key.
pub(crate) const OPENAPI: &str = "/openapi.json";

/// The part of a path below the base path: empty, or with a leading slash. `None` for a path outside the base path.
pub fn below<'a>(base_path: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(base_path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reads a number of seconds.
///
/// # Errors
///
/// A sentence that says which numbers are possible.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
    seconds.map(Duration::from_secs_f64).ok_or("it must be a number of seconds, more than 0 and at most a day")
}

/// The settings of the application. The defaults are those of the command line.
#[derive(Clone, Debug, Parser)]
pub struct AppOptions {
    /// The path below which the API lives
    #[arg(long, value_name = "PATH", default_value = "/v1", value_parser = base_path)]
    pub base_path: String,

    /// The clock for windows, dates and the removal.
    #[arg(skip = Clock::system())]
    pub clock: Clock,

    /// The number of refusals after which a key is banned, and the length of the ban.
    #[command(flatten)]
    pub ban: BanPolicy,

    /// Connections served at a time; more wait
    #[arg(long, value_name = "COUNT", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Bounds")]
    pub max_connections: u32,

    /// How long a TLS handshake or the next request's head may take, and a client may read nothing of a response; a connection may
    /// be idle for as long
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub header_timeout: Duration,

    /// How long a request's body may take to arrive
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub request_timeout: Duration,

    /// How long requests in flight may take to finish after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub grace: Duration,
}

impl AppOptions {
    /// The settings of a server without options, by this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, ..Self::parse_from([""]) }
    }
}

/// Reads a base path, whose slash at the end is left out.
fn base_path(text: &str) -> Result<String, &'static str> {
    let path = text.trim_end_matches('/');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let is_valid = path.is_empty() || path.starts_with('/') && !path.contains("//") && path.bytes().all(plain);
    is_valid.then(|| path.to_owned()).ok_or("it must begin with a slash and hold letters, digits and -._~/ only")
}

/// The state that all requests share.
pub struct App {
    /// The database with animals, keys and usage.
    pub store: Arc<Store>,
    /// The API keys in force, with their usage.
    pub keys: KeyRing,
    /// The settings.
    pub options: AppOptions,
    /// The link to the successor of `GET /pets/{petId}`.
    pub(crate) successor: HeaderValue,
    pub(crate) bodies: BodyCache,
    requests: AtomicU64,
}

impl App {
    /// Sets the application up on a store.
    ///
    /// # Panics
    ///
    /// When another program has set a base path that the command line would have refused.
    pub fn new(store: Store, options: AppOptions) -> Self {
        let store = Arc::new(store);
        let successor = format!("<{}/pets?status=available>; rel=\"successor-version\"", options.base_path);
        Self {
            successor: successor.try_into().expect("a base path has only characters that a header may have"),
            keys: KeyRing::new(Arc::clone(&store)),
            bodies: body_cache::new(),
            requests: AtomicU64::new(1),
            store,
            options,
        }
    }

    /// Returns true if a path belongs to the API, so that its requests need a key.
    pub fn serves(&self, path: &str) -> bool {
        below(&self.options.base_path, path).is_some() && ![HEALTH, OPENAPI].contains(&path)
    }

    /// Replaces the present catalogue.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the present catalogue stays, unless it is [`StoreError::OutcomeUnknown`].
    pub async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        self.store.replace(catalogue).await?;
        self.bodies.clear();
        Ok(())
    }

    /// A number for a request that no other request of this process has.
    pub fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_cleaned_or_refused() {
        assert_eq!(
            ["/v1", "/v1/", "/", "", "/a/b"].map(|path| base_path(path).ok()),
            [Some("/v1"), Some("/v1"), Some(""), Some(""), Some("/a/b")].map(|path| path.map(str::to_owned))
        );
        for path in ["v1", "/a//b", "/a b", "/a?b", "/ä", "/<x>"] {
            assert!(base_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn times_are_more_than_nothing_and_at_most_a_day() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("86400"), Ok(Duration::from_hours(24)));
        for wrong in ["0", "-1", "86401", "NaN", "inf", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
