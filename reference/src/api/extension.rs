//! The extension point: the one place where another program adds to the server.
//!
//! An [`Extension`] may change how the application is set up, and puts a tower layer around the whole server. A plain server has
//! none: it is started with [`Plain`].

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tower::layer::util::Identity;
use tower::{Layer, Service};

use crate::api::app::{App, AppOptions};
use crate::api::keys::ApiKey;

/// The reason why an extension could not start. Its message is shown to the user.
pub type ExtensionError = Box<dyn Error + Send + Sync>;

/// A layer around the whole server. It is applied once for each connection, so it can distinguish connections.
pub trait Around: Layer<Router, Service: Answers> + Send + Sync + 'static {}

impl<L: Layer<Router, Service: Answers> + Send + Sync + 'static> Around for L {}

/// A service that answers the requests of one connection.
pub trait Answers:
    Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<S> Answers for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// The part that another program adds to a server.
pub trait Extension: Send {
    /// The layer around the server.
    type Layer: Around;

    /// Changes the settings of the application before it is made.
    fn set_up(&mut self, options: &mut AppOptions);

    /// Makes the layer, when the application is ready and before the first connection is accepted.
    fn start(self, server: Started) -> impl Future<Output = Result<Extended<Self::Layer>, ExtensionError>> + Send;
}

/// A server that is about to accept connections.
pub struct Started {
    /// The state that all requests share.
    pub app: Arc<App>,
    /// The keys that were issued for this start or given to it.
    pub keys: Vec<ApiKey>,
    /// The base URL of the API, such as `http://127.0.0.1:8080/v1`.
    pub base_url: String,
}

/// The result of starting an extension.
pub struct Extended<L> {
    /// The layer around the server.
    pub layer: L,
    /// Lines to print before the server says that it listens, each with its line break.
    pub notice: String,
}

/// The extension of a plain server, which adds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Extension for Plain {
    type Layer = Identity;

    fn set_up(&mut self, _options: &mut AppOptions) {}

    async fn start(self, _server: Started) -> Result<Extended<Identity>, ExtensionError> {
        Ok(Extended { layer: Identity::new(), notice: String::new() })
    }
}
