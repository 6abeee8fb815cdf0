//! Starting servers and speaking plain HTTP/1.1 to them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use animal_store_reference::Address;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// A free TCP port of this machine.
pub(crate) const TCP: &str = "127.0.0.1:0";

/// The longest time that a test waits for any condition.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with the path of a database in it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.path().join("animals.sqlite")
    }

    pub(crate) fn db_text(&self) -> String {
        self.db().to_str().expect("a path in UTF-8").to_owned()
    }

    /// Issues a key on the command line.
    pub(crate) fn issue(&self, plan: &[&str]) -> String {
        let db = self.db_text();
        let output = program(&[&["keys", "issue", "--db", &db, "--plan"], plan].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// A Unix socket in the folder. Tests listen there unless they are about TCP: each TCP connection keeps a port of the
    /// machine for a minute.
    pub(crate) fn socket(&self) -> String {
        format!("unix:{}", self.path().join("server.sock").display())
    }

    /// The command that starts a server on the database.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_on(&self.socket(), args)
    }

    fn command_on(&self, listen: &str, args: &[&str]) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.args(["serve", "--listen", listen, "--db", &self.db_text()]).args(args);
        command
    }

    /// Starts a server on the database.
    pub(crate) fn serve(&self, args: &[&str]) -> Server {
        Server::spawn(self.command(args))
    }

    /// Starts a server on the database that listens on a TCP port.
    pub(crate) fn serve_tcp(&self, args: &[&str]) -> Server {
        Server::spawn(self.command_on(TCP, args))
    }
}

/// Runs the program to its end.
pub(crate) fn program(args: &[&str]) -> Output {
    Command::new(crate::PROGRAM).args(args).stdin(Stdio::null()).output().expect("the program runs")
}

/// A running `reference serve`. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: Address,
    /// The lines that the server printed before it listened.
    pub(crate) notice: Vec<String>,
    log: Option<JoinHandle<String>>,
    /// The folder of its socket.
    folder: Option<Folder>,
}

impl Server {
    /// Starts a server on a Unix socket of its own.
    pub(crate) fn start(args: &[&str]) -> Self {
        let folder = Folder::new();
        let mut server = Self::start_on(&folder.socket(), args);
        server.folder = Some(folder);
        server
    }

    /// Starts a server on a free TCP port.
    pub(crate) fn start_tcp(args: &[&str]) -> Self {
        Self::start_on(TCP, args)
    }

    fn start_on(listen: &str, args: &[&str]) -> Self {
        let mut command = Command::new(crate::PROGRAM);
        command.args(["serve", "--listen", listen]).args(args);
        Self::spawn(command)
    }

    /// Starts a server from a command line of any kind.
    pub(crate) fn spawn(command: Command) -> Self {
        let mut server = Self::spawn_logging_to(command, Stdio::piped());
        let mut stderr = server.child.stderr.take().expect("a pipe");
        server.log = Some(std::thread::spawn(move || {
            let mut log = String::new();
            let _ = stderr.read_to_string(&mut log);
            log
        }));
        server
    }

    /// Starts a server whose log goes to a file or another place, not to the test.
    pub(crate) fn spawn_logging_to(mut command: Command, log: impl Into<Stdio>) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program starts");
        let mut notice = Vec::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let address = loop {
            let Some(line) = lines.next() else {
                let mut log = String::new();
                let _ = child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut log));
                panic!("the server did not start: {log}");
            };
            let line = line.expect("text");
            let Some(place) = line.strip_prefix("listening on ") else {
                notice.push(line);
                continue;
            };
            break match place.split_once(" at the Unix socket ") {
                Some((_, path)) => Address::Unix(path.into()),
                None => place.split('/').nth(2).expect("an authority").parse().expect("an address"),
            };
        };
        Self { child, address, notice, log: None, folder: None }
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(status.expect("sh runs").success());
    }

    /// The number of files that the process has open.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("its files").count()
    }

    /// Lets the process have so many files open from now on.
    pub(crate) fn limit_files(&self, files: usize) {
        let limit = Rlimit { current: Some(files as u64), maximum: Some(files as u64) };
        prlimit(Pid::from_child(&self.child).into(), Resource::Nofile, limit).expect("a limit");
    }

    /// Waits until the process has ended; returns how it ended and what it logged.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        (status, self.log.take().map(|log| log.join().expect("a log")).unwrap_or_default())
    }

    /// Stops the server as a service manager would.
    pub(crate) fn stop(self) -> String {
        self.signal("TERM");
        let (status, log) = self.wait();
        assert!(status.success(), "{status}: {log}");
        log
    }

    /// Ends the server at once, as a crash would.
    pub(crate) fn kill(self) {
        self.signal("KILL");
        self.wait();
    }

    pub(crate) fn ask(&self, method: &str, path: &str, key: &str) -> Answer {
        ask(&self.address, method, path, key, None)
    }

    pub(crate) fn post(&self, key: &str, body: &str) -> Answer {
        ask(&self.address, "POST", "/v1/pets", key, Some(("application/json", body.as_bytes())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// Reads one response from a stream that the server then closes.
    pub(crate) fn read(stream: &mut impl Read) -> Self {
        Self::try_read(stream).expect("a complete response")
    }

    fn try_read(stream: &mut impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let ended = stream.read_to_end(&mut bytes);
        // A server that closes before it has read everything resets the connection behind its response.
        if bytes.is_empty() {
            ended?;
        }
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12)).and_then(|code| code.parse().ok());
        let pair =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let answer = Self {
            status: status.expect("a status"),
            headers: lines.filter_map(pair).collect(),
            body: body.to_owned(),
        };
        let complete = answer.body.is_empty() || answer.number("content-length") == answer.body.len() as u64;
        if complete { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let value = self.header(name).unwrap_or_else(|| panic!("no {name} in {self:?}"));
        value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Checks that this is an error of the API, in every detail that all errors share.
    pub(crate) fn assert_error(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let body = self.json();
        assert!(body["code"].is_string() && body["message"].is_string(), "{self:?}");
        assert_eq!(body["status"], status, "{self:?}");
        for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            self.number(name);
        }
    }
}

/// Sends one request on a connection of its own; an empty `key` sends none.
pub(crate) fn ask(address: &Address, method: &str, path: &str, key: &str, body: Option<(&str, &[u8])>) -> Answer {
    try_ask(address, method, path, key, body).expect("an answer")
}

/// Sends one request as [`ask`] does, to a server that may be gone.
pub(crate) fn try_ask(
    address: &Address,
    method: &str,
    path: &str,
    key: &str,
    body: Option<(&str, &[u8])>,
) -> io::Result<Answer> {
    let mut stream = Stream::connect(address)?;
    stream.write_all(head(method, path, key, body).as_bytes())?;
    if let Some((_, body)) = body {
        // The server may refuse, and stop reading, before it has all of a long body.
        let _ = stream.write_all(body);
    }
    Answer::try_read(&mut stream)
}

/// A connection to a server, of either kind.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn connect(address: &Address) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(address) => Self::Tcp(TcpStream::connect(address)?),
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        stream.set_patience(PATIENCE);
        Ok(stream)
    }

    /// Another handle of the same connection.
    pub(crate) fn second_handle(&self) -> Self {
        match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone().expect("a handle")),
            Self::Unix(stream) => Self::Unix(stream.try_clone().expect("a handle")),
        }
    }

    /// Sets how long a read waits.
    pub(crate) fn set_patience(&self, patience: Duration) {
        let outcome = match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(patience)),
            Self::Unix(stream) => stream.set_read_timeout(Some(patience)),
        };
        outcome.expect("a timeout");
    }

    /// Closes this side.
    pub(crate) fn close_sending(&self) {
        let outcome = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
        outcome.expect("half closed");
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn connect(address: &Address) -> Stream {
    Stream::connect(address).expect("a connection")
}

pub(crate) fn head(method: &str, path: &str, key: &str, body: Option<(&str, &[u8])>) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
    if !key.is_empty() {
        head += &format!("Authorization: Bearer {key}\r\n");
    }
    if let Some((content_type, body)) = body {
        if !content_type.is_empty() {
            head += &format!("Content-Type: {content_type}\r\n");
        }
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    head + "\r\n"
}

/// Repeats `ask` until it returns a value.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
