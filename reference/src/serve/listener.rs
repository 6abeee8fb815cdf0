//! The addresses that a server listens on, and the sockets that connections are accepted from.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs, sync::Once, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixSocket, UnixStream};

/// The address that a server listens on: `127.0.0.1:8080`, `[::1]:8080`, or `unix:/run/animal-store.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a TCP port; port 0 takes any free one.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The prefix of an address that is a path.
const UNIX: &str = "unix:";

impl Address {
    /// The IP address. `None` for a Unix socket.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip()),
            Self::Unix(_) => None,
        }
    }

    /// Connects to the server at this address.
    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(address) => Box::new(TcpStream::connect(address).await?),
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected an IP address and a port, such as 127.0.0.1:8080, or unix:PATH".to_owned();
        match text.strip_prefix(UNIX) {
            Some("") => Err(wrong()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| wrong()),
        }
    }
}

/// The two directions of a connection over a socket of any kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The number of connections that may wait to be accepted. The usual 128 overflow when a thousand clients arrive
/// together, and a client that finds no room tries again only after a second.
const BACKLOG: u32 = 4096;

/// The size in bytes of the system's buffer for a response to a slow client (Linux doubles it). Without a bound it is several
/// megabytes, and a third of it must be read before the server can write more: a client that reads 40 KB a second then makes no
/// visible progress for half a minute.
const SEND_BUFFER: u32 = 128 * 1024;

/// The interval at which accepting is tried again when the process is out of files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A socket that connections are accepted from.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// A Unix socket. Its file is removed before the socket closes, so that no other server takes the file for a stale one.
    Unix(SocketFile, UnixListener),
}

/// The path of a Unix socket, with the device and the inode of its file. The file is removed with this value, unless another server has
/// put its own in the place. The inode of a socket is not used again while the socket is open.
pub(super) struct SocketFile(PathBuf, (u64, u64));

impl Drop for SocketFile {
    fn drop(&mut self) {
        if file_id(&self.0).is_ok_and(|id| id == self.1) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn file_id(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

impl Listener {
    /// Begins to listen on an address.
    ///
    /// # Errors
    ///
    /// The error of the system; [`ErrorKind::AddrInUse`] when another server listens there, [`ErrorKind::AlreadyExists`] when the
    /// path names a file that is not a socket.
    pub(super) async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                // A restart then need not wait until the system has forgotten the connections of the last server.
                socket.set_reuseaddr(true)?;
                // Accepted connections inherit these two.
                socket.set_send_buffer_size(SEND_BUFFER)?;
                socket.set_nodelay(true)?;
                socket.bind(*address)?;
                Ok(Self::Tcp(socket.listen(BACKLOG)?))
            }
            Address::Unix(path) => {
                remove_stale(path).await?;
                let socket = UnixSocket::new_stream()?;
                socket.bind(path)?;
                let file = SocketFile(path.clone(), file_id(path)?);
                // No client can connect before the socket listens.
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
                Ok(Self::Unix(file, socket.listen(BACKLOG)?))
            }
        }
    }

    /// The host and port of the base URL; `localhost` for a Unix socket, because HTTP needs some host.
    pub(super) fn authority(&self) -> io::Result<String> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(|address| address.to_string()),
            Self::Unix(..) => Ok("localhost".to_owned()),
        }
    }

    /// Waits for a connection. When the process is out of files, only waiting helps.
    pub(super) async fn accept(&self) -> Box<dyn Stream> {
        static OUT_OF_FILES: Once = Once::new();
        loop {
            let accepted: io::Result<Box<dyn Stream>> = match self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _peer)| Box::new(stream) as _),
                Self::Unix(_file, listener) => listener.accept().await.map(|(stream, _peer)| Box::new(stream) as _),
            };
            match accepted {
                Ok(stream) => return stream,
                // The client has gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    OUT_OF_FILES.call_once(|| {
                        let remedy = "raise the limit of open files (ulimit -n) or lower --max-connections";
                        tracing::warn!("a connection cannot be accepted until another one ends ({error}): {remedy}");
                    });
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }
}

/// Removes the socket of a server that has ended without removing it.
async fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "this file exists and is not a socket"));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        // A server that accepts no more connections has no room for this one.
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Err(io::Error::new(ErrorKind::AddrInUse, "another server listens on this socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_the_path_of_a_socket() {
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/a.sock", "unix:a b"] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), text);
        }
        for wrong in ["", "8080", "localhost:8080", "unix:", "/run/a.sock"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_socket_is_for_its_owner_alone_and_goes_with_its_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sock");
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).await.expect("a socket");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = Listener::bind(&address).await.err().expect("an error");
        assert_eq!(second.kind(), ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_server_left_is_replaced_and_no_other_file_or_link_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (stale, file) = (folder.path().join("stale.sock"), folder.path().join("notes.txt"));
        drop(std::os::unix::net::UnixListener::bind(&stale).expect("a socket"));
        assert!(stale.exists());
        assert!(Listener::bind(&Address::Unix(stale)).await.is_ok());
        fs::write(&file, "mine").expect("a file");
        let refused = Listener::bind(&Address::Unix(file.clone())).await.err().expect("an error");
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
        let link = folder.path().join("link.sock");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let refused = Listener::bind(&Address::Unix(link.clone())).await.err().expect("an error");
        assert_eq!((refused.kind(), link.is_symlink()), (ErrorKind::AlreadyExists, true));
    }

    #[tokio::test]
    async fn a_server_that_stops_leaves_the_socket_of_its_successor() {
        let folder = tempfile::tempdir().expect("a folder");
        let address = Address::Unix(folder.path().join("a.sock"));
        let first = Listener::bind(&address).await.expect("a socket");
        fs::remove_file(folder.path().join("a.sock")).expect("removed");
        let _second = Listener::bind(&address).await.expect("a socket in its place");
        drop(first);
        address.connect().await.expect("the second server");
    }

    #[tokio::test]
    async fn a_server_that_hangs_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hung.sock");
        let socket = UnixSocket::new_stream().expect("a socket");
        socket.bind(&path).expect("bound");
        let _hung = socket.listen(1).expect("listening");
        let mut waiting = Vec::new();
        while let Ok(stream) = UnixStream::connect(&path).await {
            waiting.push(stream);
        }
        let bound = tokio::time::timeout(Duration::from_secs(30), Listener::bind(&Address::Unix(path.clone()))).await;
        assert_eq!(bound.expect("an answer").err().map(|error| error.kind()), Some(ErrorKind::AddrInUse));
        assert!(path.exists(), "it is not ours to remove");
    }
}
