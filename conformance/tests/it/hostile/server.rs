//! A server below HTTP: it takes connections and does with each what a case says, on raw sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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

/// A stream of bytes in both directions.
trait Stream: Read + Write + Send {
    /// Bounds how long one read or write may wait.
    fn set_patience(&self, patience: Duration) -> io::Result<()>;

    /// Says that no more bytes come from here.
    fn end(&self) -> io::Result<()>;
}

macro_rules! stream {
    ($stream:ty) => {
        impl Stream for $stream {
            fn set_patience(&self, patience: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(patience))?;
                self.set_write_timeout(Some(patience))
            }

            fn end(&self) -> io::Result<()> {
                self.shutdown(Shutdown::Write)
            }
        }
    };
}
stream!(TcpStream);
stream!(UnixStream);

/// The other end of a connection.
pub(super) struct Peer {
    stream: Box<dyn Stream>,
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

/// A listening server; it stops when dropped.
pub(super) struct Server {
    /// Host and port, or the host that stands for a Unix socket.
    pub(super) authority: String,
    place: Place,
    requests: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
}

/// Where a server listens.
enum Place {
    Port,
    Socket(Socket),
}

impl Server {
    /// Listens on a free loopback port, where the connection is what is hostile.
    pub(super) fn on_port(behaviour: Arc<Behaviour>) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let authority = listener.local_addr().expect("an address").to_string();
        Server::start(authority, Place::Port, behaviour, move || Ok(Box::new(listener.accept()?.0)))
    }

    /// Listens on a Unix socket.
    pub(super) fn on_socket(behaviour: Arc<Behaviour>) -> Server {
        let socket = Socket::new();
        let listener = UnixListener::bind(socket.path()).expect("a socket");
        let authority = socket.host().to_owned();
        Server::start(authority, Place::Socket(socket), behaviour, move || Ok(Box::new(listener.accept()?.0)))
    }

    fn start(
        authority: String,
        place: Place,
        behaviour: Arc<Behaviour>,
        accept: impl Fn() -> io::Result<Box<dyn Stream>> + Send + 'static,
    ) -> Server {
        let (requests, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, ends) = (Arc::clone(&requests), Arc::clone(&stopped));
        std::thread::spawn(move || {
            loop {
                let accepted = accept();
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = accepted else { continue };
                let (behaviour, counter, stopped) = (Arc::clone(&behaviour), Arc::clone(&counter), Arc::clone(&ends));
                // How a connection ends is the judge's affair: that it hangs up is expected.
                std::thread::spawn(move || serve(stream, &counter, stopped, &*behaviour));
            }
        });
        Server { authority, place, requests, stopped }
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.authority)
    }

    /// How many requests have come.
    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _already_gone = match &self.place {
            Place::Port => TcpStream::connect(&self.authority).map(drop),
            Place::Socket(socket) => UnixStream::connect(socket.path()).map(drop),
        };
    }
}

fn serve(stream: Box<dyn Stream>, counter: &AtomicUsize, stopped: Arc<AtomicBool>, behaviour: &Behaviour) {
    let mut peer = Peer { stream, stopped };
    if peer.stream.set_patience(PATIENCE).is_err() {
        return;
    }
    if let Ok(Some((method, target))) = read_request(&mut *peer.stream) {
        let asked = Asked { method, target, before: counter.fetch_add(1, Ordering::Relaxed) };
        if behaviour(&asked, &mut peer).is_ok() {
            // Whoever closes with unread bytes resets the connection, and the answer may be lost with it.
            let _ends = peer.stream.end();
            let _left = peer.say_nothing();
        }
    }
}

/// Reads a request's head, and the body that it announces.
fn read_request(stream: &mut dyn Stream) -> io::Result<Option<(String, String)>> {
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
