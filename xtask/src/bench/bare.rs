//! The baseline for reads: axum with one route, a constant body and constant headers, and nothing else.

use std::process::ExitCode;

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::routing::get;
use axum::serve::ListenerExt;
use clap::Args;

/// The arguments of the hidden command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The route that answers
    #[arg(long)]
    path: String,
    /// The body of every answer
    #[arg(long)]
    body: String,
    /// A header of every answer, as `name: value`
    #[arg(long = "header")]
    headers: Vec<String>,
}

/// Serves until it is killed, on the same kind of runtime as the reference.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut headers = HeaderMap::new();
    for line in &options.headers {
        let (name, value) = line.split_once(": ").with_context(|| format!("{line:?} is no `name: value`"))?;
        headers.insert(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
    }
    let body = Bytes::from(options.body.clone());
    let answer = move || {
        let response = (headers.clone(), body.clone());
        async move { response }
    };
    let app = Router::new().route(&options.path, get(answer));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("no loopback port is free")?;
        println!("listening on http://{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, app).await?;
        Ok(ExitCode::SUCCESS)
    })
}
