//! A server below HTTP: it takes connections and does with each what a case says, on raw sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::sockets::Socket;

/// A connection is given up after this long without progress, so that no thread outlives its test for long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What lies between two pieces of an answer that never ends: the slowness is the attack.
const PAUSE: Duration = Duration::from_millis(5);

/// What came in on a connection.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// How many requests came before this one.
    pub before: usize,
}

/// What to do with a connection whose request has been read.
pub(super) type Behaviour = dyn Fn(&Asked, &mut Peer) -> io::Result<()> + Send + Sync;

/// The other end of a connection.
pub(super) struct Peer {
    stream: UnixStream,
    stopped: Arc<AtomicBool>,
}

impl Peer {
    /// Sends bytes as they are.
    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends the same bytes until the other side has had enough.
    pub(super) fn send_for_ever(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        while !self.stopped.load(Ordering::Relaxed) {
            self.send(bytes.as_ref())?;
        }
        Ok(())
    }

    /// Sends the same bytes again and again, with a pause after each time, until the other side has had enough.
    pub(super) fn repeat(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        while !self.stopped.load(Ordering::Relaxed) {
            self.send(bytes.as_ref())?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Sends one byte at a time with a pause after each, again and again, until the other side has had enough.
    pub(super) fn drip(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes.iter().cycle() {
            self.send([*byte])?;
            std::thread::sleep(PAUSE);
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// Says nothing until the other side leaves.
    pub(super) fn say_nothing(&mut self) -> io::Result<()> {
        let mut rest = [0; 1024];
        while self.stream.read(&mut rest)? > 0 {}
        Ok(())
    }

    /// A complete answer with the headers that every API response needs, in a window that never ends soon.
    pub(super) fn answer(&mut self, status: &str, fields: &str, body: impl AsRef<[u8]>) -> io::Result<()> {
        let body = body.as_ref();
        let reset = jiff::Timestamp::now().as_second() + 30;
        self.send(format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-ratelimit-limit: 300\r\nx-ratelimit-remaining: 200\r\n\
             x-ratelimit-reset: {reset}\r\ncontent-length: {}\r\nconnection: close\r\n{fields}\r\n",
            body.len()
        ))?;
        self.send(body)
    }
}

/// A server that listens on a Unix socket; it stops when dropped.
pub(super) struct Server {
    /// The host that stands for the socket.
    pub(super) authority: String,
    socket: Socket,
    stopped: Arc<AtomicBool>,
}

impl Server {
    pub(super) fn start(behaviour: Arc<Behaviour>) -> Server {
        let socket = Socket::new();
        let listener = UnixListener::bind(socket.path()).expect("a socket");
        let (requests, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&stopped);
        std::thread::spawn(move || {
            loop {
                let accepted = listener.accept();
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let Ok((stream, _)) = accepted else { continue };
                let (behaviour, requests, stopped) = (Arc::clone(&behaviour), Arc::clone(&requests), Arc::clone(&ends));
                // How a connection ends is the judge's affair: that it hangs up is expected.
                std::thread::spawn(move || serve(stream, &requests, stopped, &*behaviour));
            }
        });
        Server { authority: socket.host().to_owned(), socket, stopped }
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.authority)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _already_gone = UnixStream::connect(self.socket.path());
    }
}

fn serve(stream: UnixStream, requests: &AtomicUsize, stopped: Arc<AtomicBool>, behaviour: &Behaviour) {
    let mut peer = Peer { stream, stopped };
    let set = peer.stream.set_read_timeout(Some(PATIENCE)).and_then(|()| peer.stream.set_write_timeout(Some(PATIENCE)));
    if set.is_err() {
        return;
    }
    if let Ok(Some((method, target))) = read_request(&mut peer.stream) {
        let asked = Asked { method, target, before: requests.fetch_add(1, Ordering::Relaxed) };
        if behaviour(&asked, &mut peer).is_ok() {
            // Whoever closes with unread bytes resets the connection, and the answer may be lost with it.
            let _ends = peer.stream.shutdown(Shutdown::Write);
            let _left = peer.say_nothing();
        }
    }
}

/// Reads a request's head, and the body that it announces.
fn read_request(stream: &mut UnixStream) -> io::Result<Option<(String, String)>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    stream.read_exact(&mut vec![0; length.unwrap_or(0)])?;
    Ok(Some((method, target)))
}
