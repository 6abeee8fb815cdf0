//! The address that the server listens on: an IP address and a port, or a Unix socket.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

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
    /// A free port of the loopback interface.
    pub const LOOPBACK: Self = Self::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

    /// The IP address. `None` for a Unix socket.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip()),
            Self::Unix(_) => None,
        }
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
}
