//! A load generator that is cheaper than any server it drives: raw HTTP/1.1 over kept-alive connections, one request in
//! flight on each, everything on one thread. Every response is checked, because the rate of wrong responses means nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::message;

/// What every answer must be.
#[derive(Debug)]
pub(crate) enum Expect {
    /// 200 with exactly this body, one for each request of the script.
    Bodies(Vec<Vec<u8>>),
    /// 201 with an `id`, which is kept.
    Created,
}

/// The requests that the connections send, in a circle, each connection from a place of its own.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) expect: Expect,
}

/// How much is sent: whichever limit is reached first ends the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) connections: usize,
    pub(crate) requests: u64,
    pub(crate) duration: Duration,
}

/// What a run saw.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) answers: u64,
    pub(crate) elapsed: Duration,
    /// Microseconds of each answer, ascending.
    pub(crate) latencies: Vec<u32>,
    /// The ids of what was created.
    pub(crate) ids: Vec<i64>,
}

/// The one thread that the load comes from.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("the load generator could not start")
}

/// Sends the script to a loopback address within the extent.
pub(crate) async fn send(address: SocketAddr, script: &Arc<Script>, extent: Extent) -> anyhow::Result<Outcome> {
    ensure!(address.ip().is_loopback(), "the load goes to this machine only, not to {address}");
    let mut streams = Vec::with_capacity(extent.connections);
    for _ in 0..extent.connections {
        let stream = TcpStream::connect(address).await.with_context(|| format!("{address} does not answer"))?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }

    let sent = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for (number, stream) in streams.into_iter().enumerate() {
        let client = Client {
            stream,
            script: Arc::clone(script),
            next: number * script.requests.len() / extent.connections,
            sent: Arc::clone(&sent),
            limit: extent.requests,
            end: start + extent.duration,
        };
        clients.spawn(client.run());
    }

    let patience = extent.duration + Duration::from_secs(30);
    let mut outcome = Outcome::default();
    while let Some(client) =
        tokio::time::timeout(patience, clients.join_next()).await.context("the server left requests unanswered")?
    {
        let seen = client.context("a client of the load generator broke")??;
        outcome.answers += seen.answers;
        outcome.latencies.extend(seen.latencies);
        outcome.ids.extend(seen.ids);
    }
    outcome.elapsed = start.elapsed();
    ensure!(outcome.answers > 0, "no request was answered within {:?}", extent.duration);
    outcome.latencies.sort_unstable();
    Ok(outcome)
}

/// Sends each request once, one after the other; returns the answers in the same order.
pub(crate) async fn each_once(address: SocketAddr, requests: &[Vec<u8>]) -> anyhow::Result<Vec<message::Answer>> {
    let mut stream = TcpStream::connect(address).await.with_context(|| format!("{address} does not answer"))?;
    stream.set_nodelay(true)?;
    let mut answers = Vec::with_capacity(requests.len());
    let mut buffer = Vec::new();
    for request in requests {
        stream.write_all(request).await?;
        let frame = read(&mut stream, &mut buffer).await?;
        answers.push(message::Answer::parse(&buffer, frame)?);
        buffer.clear();
    }
    Ok(answers)
}

/// Sends one request; returns its answer.
pub(crate) async fn once(address: SocketAddr, request: &[u8]) -> anyhow::Result<message::Answer> {
    let mut answers = each_once(address, &[request.to_vec()]).await?;
    answers.pop().context("no answer")
}

/// One connection: a request, its answer, the next.
struct Client {
    stream: TcpStream,
    script: Arc<Script>,
    next: usize,
    sent: Arc<AtomicU64>,
    limit: u64,
    end: Instant,
}

impl Client {
    async fn run(mut self) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut buffer = Vec::with_capacity(32 * 1024);
        let mut before = Instant::now();
        while before < self.end && self.sent.fetch_add(1, Ordering::Relaxed) < self.limit {
            let number = self.next % self.script.requests.len();
            self.next = number + 1;
            self.stream.write_all(&self.script.requests[number]).await.context("the server closed the connection")?;
            let frame = read(&mut self.stream, &mut buffer).await?;
            check(&self.script.expect, number, &buffer, frame, &mut outcome)?;
            buffer.clear();
            let after = Instant::now();
            outcome.latencies.push(u32::try_from((after - before).as_micros()).unwrap_or(u32::MAX));
            outcome.answers += 1;
            before = after;
        }
        Ok(outcome)
    }
}

/// Reads until the buffer holds one whole answer.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> anyhow::Result<message::Frame> {
    loop {
        if let Some(frame) = message::frame(buffer)? {
            return Ok(frame);
        }
        ensure!(stream.read_buf(buffer).await? > 0, "the server closed the connection before its answer was complete");
    }
}

fn check(
    expect: &Expect,
    number: usize,
    buffer: &[u8],
    frame: message::Frame,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let body = &buffer[frame.body..frame.end];
    match expect {
        Expect::Bodies(bodies) if frame.status == 200 && body == bodies[number] => Ok(()),
        Expect::Created if frame.status == 201 => {
            outcome.ids.push(message::id(body).context("a created animal came back without an id")?);
            Ok(())
        }
        Expect::Bodies(_) | Expect::Created => {
            bail!("an answer is not what was asked for:\n{}", String::from_utf8_lossy(&buffer[..frame.end]))
        }
    }
}
