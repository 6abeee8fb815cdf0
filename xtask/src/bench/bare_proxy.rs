//! The baseline for the proxy: hyper on both sides, and nothing else. It does not even remove the header fields that concern one
//! connection (RFC 9110 section 7.6.1).

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// The arguments of the hidden command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The address of the server
    #[arg(long)]
    to: SocketAddr,
}

/// Passes requests on until it is killed, with a connection to the server for each of a client.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let to = options.to;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no loopback port is free")?;
        println!("listening on http://{}", listener.local_addr()?);
        loop {
            let (client, _) = listener.accept().await?;
            tokio::spawn(async move {
                if let Err(error) = pass_on(client, to).await {
                    eprintln!("a connection ended: {error:#}");
                }
            });
        }
    })
}

async fn pass_on(client: TcpStream, to: SocketAddr) -> anyhow::Result<()> {
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
