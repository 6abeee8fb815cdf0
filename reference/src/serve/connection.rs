//! One connection, from the TLS handshake until its client closes.
//!
//! hyper speaks HTTP, and itself answers bytes that are no request. Its timer for the head of a request runs from the end of the response
//! before, so it bounds idle connections too. A client that reads nothing of a response holds its connection for no longer.

use std::pin::pin;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::ServeOptions;
use crate::api::extension::Answers;

/// The greatest length of the head of a request, and of its buffer, in bytes.
const MAX_HEAD: usize = 32 * 1024;

/// A connection to serve: the service that answers its requests, and its settings.
pub(super) struct Connection<A> {
    pub(super) answers: A,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) options: ServeOptions,
    /// A signal that becomes true when the connection has to end after the request in progress.
    pub(super) stopping: watch::Receiver<bool>,
}

impl<A: Answers> Connection<A> {
    /// Serves a connection until its end.
    pub(super) async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Some(acceptor) = self.tls.clone() else { return self.speak_http(stream).await };
        match timeout(self.options.header_timeout, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => self.speak_http(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_elapsed) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn speak_http(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.options.header_timeout));
        let answers = self.answers;
        let service = service_fn(move |request: Request<Incoming>| answers.clone().oneshot(request.map(Body::new)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.options.header_timeout)
            .half_close(true)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let mut connection = pin!(connection);
        let served = tokio::select! {
            served = &mut connection => served,
            () = stops(&mut self.stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Completes when the connection has to end.
async fn stops(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
