//! Servers as processes of their own: started, asked where they listen, and always stopped.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

/// How long a server may take to say where it listens.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many lines of a server's output are kept, for the error that may need them.
const KEPT_LINES: usize = 20;

/// A running server. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `command` and waits for its line `listening on http://ADDRESS` or `proxy: http://ADDRESS`.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Server> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        let (found, address) = mpsc::channel();
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        // Both pipes are read to their end: a server whose log nobody reads stands still once the pipe is full.
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ];
        for pipe in pipes.into_iter().flatten() {
            let (found, lines) = (found.clone(), Arc::clone(&lines));
            thread::spawn(move || follow(pipe, &found, &lines));
        }
        drop(found);

        match address.recv_timeout(PATIENCE) {
            Ok(address) => Ok(Server { child, address }),
            Err(_) => {
                let _ = child.kill();
                let status = child.wait()?;
                let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                let said: Vec<&str> = lines.iter().map(String::as_str).collect();
                bail!("{command:?} did not say where it listens ({status}); its last lines:\n{}", said.join("\n"))
            }
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that is gone already needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(pipe: impl Read, found: &mpsc::Sender<SocketAddr>, lines: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(pipe).lines() {
        let Ok(line) = line else { return };
        if let Some(address) = listening_on(&line) {
            // Nobody waits for a second address.
            let _ = found.send(address);
        }
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// The address in a line such as `… listening on http://127.0.0.1:40123/v1 …`, or that of a proxy.
fn listening_on(line: &str) -> Option<SocketAddr> {
    let (_, rest) = ["listening on http://", "proxy: http://"].iter().find_map(|before| line.split_once(before))?;
    let end = rest.find(|c: char| !(c.is_ascii_hexdigit() || ".:[]".contains(c))).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_whatever_stands_around_it() {
        let expected: SocketAddr = "127.0.0.1:40123".parse().expect("an address");
        for line in [
            "listening on http://127.0.0.1:40123",
            "2026-11-20T20:00:00Z INFO listening on http://127.0.0.1:40123/v1, base path /v1",
            "proxy: http://127.0.0.1:40123/v1 passes requests on to http://127.0.0.1:8080/v1",
            "The server is listening on http://127.0.0.1:40123.",
        ] {
            assert_eq!(listening_on(line), Some(expected), "{line}");
        }
        assert_eq!(listening_on("listening on http://[::1]:80/v1"), "[::1]:80".parse().ok());
        assert_eq!(listening_on("listening"), None);
    }
}
