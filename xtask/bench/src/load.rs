//! Servers as processes of their own, and the load that they are measured with: kept-alive connections with one request in flight on
//! each, on a single thread. Every response is checked, because the rate of wrong responses means nothing.

use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use xtask::{output, programs_dir};

/// How long a server may take to start, or to answer all requests of a load.
const PATIENCE: Duration = Duration::from_mins(5);

/// The time that a process has spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) elapsed: Duration,
    /// The processor time of all threads; the elapsed time where the system does not report it.
    pub(crate) processor: Duration,
}

/// Does some work and measures the time that a process, its number or `self`, spends meanwhile.
pub(crate) fn measure<T>(process: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Spent, T)> {
    let (start, before) = (Instant::now(), processor_time(process));
    let result = work()?;
    let elapsed = start.elapsed();
    let times = processor_time(process).zip(before);
    Ok((Spent { elapsed, processor: times.map_or(elapsed, |(after, before)| after.saturating_sub(before)) }, result))
}

fn processor_time(process: &str) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The twelfth and the thirteenth field after the name of the program: user and system time, in hundredths of a second.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    Some(Duration::from_millis(10 * fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()))
}

/// A running server and a key for it. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
}

impl Server {
    /// Starts a program of the project on a free port, with one worker thread: the load needs the other core of a small machine.
    pub(crate) fn start(command: &mut Command, key: &str) -> anyhow::Result<Server> {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let address = address.context("no loopback port is free")?;
        command.arg(format!("--listen={address}")).envs([("ANIMAL_STORE_LOG", "warn"), ("TOKIO_WORKER_THREADS", "1")]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("could not start {command:?}"))?;
        let mut server = Server { child, address, key: key.to_owned() };
        let listens = async {
            while TcpStream::connect(address).await.is_err() {
                ensure!(server.child.try_wait()?.is_none(), "it has ended");
                sleep(Duration::from_millis(10)).await;
            }
            Ok(server)
        };
        within_patience(listens).with_context(|| format!("{command:?} does not listen on {address}"))
    }

    /// Starts the reference as its users run it: the release binary, a new database file and a key.
    pub(crate) fn reference(database: &Path) -> anyhow::Result<Server> {
        let program = program("reference")?;
        let issue = "keys issue --plan enterprise --rpm 1000000000 --rpd 1000000000 --name bench --db";
        let key = output(Command::new(&program).args(issue.split(' ')).arg(database))?;
        Server::start(Command::new(&program).args(["serve", "--db"]).arg(database), key.trim())
    }

    /// Sends numbered requests from several clients: `request` makes the path and the body, and `check` reads the response. Returns
    /// the results of `check` as well.
    pub(crate) fn load<T>(
        &self,
        clients: usize,
        numbers: Range<usize>,
        request: impl Fn(usize) -> (String, String),
        check: impl Fn(usize, Response<Bytes>) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Spent, Vec<T>)> {
        let send = async |client: usize| {
            let stream = TcpStream::connect(self.address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            let mut results = Vec::new();
            for number in numbers.clone().skip(client).step_by(clients) {
                let (path, body) = request(number);
                let request = Request::builder()
                    .method(if body.is_empty() { "GET" } else { "POST" })
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .header(header::AUTHORIZATION, format!("Bearer {}", self.key))
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(Full::new(Bytes::from(body)))?;
                sender.ready().await?;
                let (head, body) = sender.send_request(request).await?.into_parts();
                let response = Response::from_parts(head, body.collect().await?.to_bytes());
                results.push(check(number, response)?);
            }
            anyhow::Ok(results)
        };
        let clients = || within_patience(try_join_all((0..clients).map(send))).context("the load broke off");
        let (spent, results) = measure(&self.child.id().to_string(), clients)?;
        Ok((spent, results.into_iter().flatten().collect()))
    }
}

/// The path of a program of the project, which is built beside this one.
pub(crate) fn program(name: &str) -> anyhow::Result<PathBuf> {
    Ok(programs_dir()?.join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn within_patience<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { timeout(PATIENCE, future).await? })
}
