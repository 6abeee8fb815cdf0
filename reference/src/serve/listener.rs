//! The sockets that connections are accepted from.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixSocket};

use crate::serve::address::Address;

/// The number of connections that may wait to be accepted. The usual 128 overflow when a thousand clients arrive
/// together, and a client that finds no room tries again only after a second.
const BACKLOG: u32 = 4096;

/// The size in bytes of the system's buffer for a response to a slow client (Linux doubles it). Without a bound it is several
/// megabytes, and a third of it must be read before the server can write more: a client that reads 40 KB a second then makes no
/// visible progress for half a minute.
const SEND_BUFFER: u32 = 128 * 1024;

/// A socket that connections are accepted from.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// A Unix socket. Its file is removed before the socket closes, so that no other server takes the file for a stale one.
    Unix {
        _file: SocketFile,
        listener: UnixListener,
    },
}

/// The file of a Unix socket, which is removed with this value.
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, path = %self.0.display(), "the socket file could not be removed");
        }
    }
}

/// The two directions of a connection over a socket of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Listener {
    /// Begins to listen on an address.
    ///
    /// # Errors
    ///
    /// The error of the system; [`ErrorKind::AddrInUse`] when another server listens there, [`ErrorKind::AlreadyExists`] when the
    /// path names a file that is not a socket.
    pub(super) fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                // A restart then need not wait until the system has forgotten the connections of the last server.
                socket.set_reuseaddr(true)?;
                // Accepted connections inherit the size.
                socket.set_send_buffer_size(SEND_BUFFER)?;
                socket.bind(*address)?;
                Ok(Self::Tcp(socket.listen(BACKLOG)?))
            }
            Address::Unix(path) => {
                remove_stale(path)?;
                let socket = UnixSocket::new_stream()?;
                socket.bind(path)?;
                let file = SocketFile(path.clone());
                // No client can connect before the socket listens.
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                Ok(Self::Unix { _file: file, listener: socket.listen(BACKLOG)? })
            }
        }
    }

    /// The host and port of the base URL; `localhost` for a Unix socket, because HTTP needs some host.
    ///
    /// # Errors
    ///
    /// The error of the system when it does not know the address.
    pub(super) fn authority(&self) -> io::Result<String> {
        match self {
            Self::Tcp(listener) => Ok(listener.local_addr()?.to_string()),
            Self::Unix { .. } => Ok("localhost".to_owned()),
        }
    }

    /// Waits for a connection.
    pub(super) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _peer) = listener.accept().await?;
                // The option of a connection that has ended already cannot be set.
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
            Self::Unix { listener, .. } => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

/// Removes the socket of a server that has ended without removing it.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "this file exists and is not a socket"));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another server listens on this socket")),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_owner_alone_and_goes_with_its_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sock");
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).expect("a socket");
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = Listener::bind(&address).err().expect("an error");
        assert_eq!(second.kind(), ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_server_left_is_replaced_and_another_file_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (stale, file) = (folder.path().join("stale.sock"), folder.path().join("notes.txt"));
        drop(std::os::unix::net::UnixListener::bind(&stale).expect("a socket"));
        assert!(stale.exists());
        assert!(Listener::bind(&Address::Unix(stale)).is_ok());
        std::fs::write(&file, "mine").expect("a file");
        let refused = Listener::bind(&Address::Unix(file.clone())).err().expect("an error");
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(file).expect("the file"), "mine");
    }
}
