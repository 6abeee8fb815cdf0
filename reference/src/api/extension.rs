//! The extension point: the one place where another program adds to the server.
//!
//! An [`Extension`] may change how the application is set up, and puts a layer around the whole server. A plain server has
//! none: it is started with [`Plain`].

use std::{convert::Infallible, error::Error, sync::Arc};

use axum::{Router, extract::Request, response::Response};
use tower::util::BoxCloneSyncService;

use crate::api::app::{App, AppOptions};
use crate::api::keys::ApiKey;

/// The reason why an extension could not start. Its message is shown to the user.
pub type ExtensionError = Box<dyn Error + Send + Sync>;

/// Makes the service that answers the requests of one connection, so that connections can be distinguished.
pub type Around = Box<dyn Fn(Router) -> Answers + Send + Sync>;

/// The service that answers the requests of one connection.
pub type Answers = BoxCloneSyncService<Request, Response, Infallible>;

/// The part that another program adds to a server.
pub trait Extension: Send {
    /// Changes the settings of the application before it is made.
    fn set_up(&mut self, _options: &mut AppOptions) {}

    /// Makes the layer around the server, when the application is ready and before the first connection is accepted.
    fn start(self, server: Started) -> impl Future<Output = Result<Extended, ExtensionError>> + Send;
}

/// A server that is about to accept connections.
#[derive(Clone)]
pub struct Started {
    /// The state that all requests share.
    pub app: Arc<App>,
    /// The keys that were issued for this start or given to it, with their numbers.
    pub keys: Vec<(i64, ApiKey)>,
    /// The base URL of the API, such as `http://127.0.0.1:8080/v1`.
    pub base_url: String,
}

/// The result of starting an extension.
pub struct Extended {
    /// The layer around the server.
    pub around: Around,
    /// Lines to print before the server says that it listens, each with its line break.
    pub notice: String,
}

/// The extension of a plain server, which adds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Extension for Plain {
    async fn start(self, _server: Started) -> Result<Extended, ExtensionError> {
        Ok(Extended { around: Box::new(BoxCloneSyncService::new), notice: String::new() })
    }
}
