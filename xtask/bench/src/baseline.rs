//! The baselines of the comparisons, as hidden commands: a server and a proxy that do nothing of their own.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::routing::get;
use axum::serve::ListenerExt;
use clap::Subcommand;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

#[derive(Debug, Subcommand)]
#[command(hide = true)]
pub(crate) enum Baseline {
    /// axum with one route, a constant body and constant header fields, which are pairs of a name and a value
    Server {
        #[arg(long)]
        listen: SocketAddr,
        body: String,
        headers: Vec<String>,
    },
    /// hyper on both sides, which does not even remove the header fields of one connection (RFC 9110 section 7.6.1)
    Proxy {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        to: SocketAddr,
    },
}

impl Baseline {
    /// Serves until the process is killed, on the same kind of runtime as the reference.
    #[tokio::main]
    pub(crate) async fn run(&self) -> anyhow::Result<ExitCode> {
        match self {
            Baseline::Server { listen, body, headers } => {
                let mut fields = HeaderMap::new();
                for pair in headers.chunks_exact(2) {
                    fields.insert(HeaderName::from_bytes(pair[0].as_bytes())?, HeaderValue::from_str(&pair[1])?);
                }
                let body = Bytes::from(body.clone());
                let app = Router::new().route("/v1/pets/{id}", get(async move || (fields.clone(), body.clone())));
                let listener = TcpListener::bind(listen).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
                axum::serve(listener, app).await?;
            }
            Baseline::Proxy { listen, to } => {
                let listener = TcpListener::bind(listen).await?;
                loop {
                    let (client, _) = listener.accept().await?;
                    tokio::spawn(forward(client, *to));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Passes on the requests of a client, over a connection to the server of its own.
async fn forward(client: TcpStream, to: SocketAddr) -> anyhow::Result<()> {
    let server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(server)).await?;
    tokio::spawn(connection);
    let sender = Arc::new(Mutex::new(sender));
    let service = service_fn(move |request: Request<Incoming>| {
        let sender = Arc::clone(&sender);
        async move { sender.lock().await.send_request(request).await }
    });
    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(client), service).await?;
    Ok(())
}
