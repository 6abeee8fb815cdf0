//! `reference health`: asks a running server whether it is healthy.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use super::outcome::{Failure, print};
use crate::cli::config::HealthArgs;
use crate::serve::address::Address;

/// Asks a running server whether it is healthy.
///
/// # Errors
///
/// [`Failure::Failed`] when the server is not healthy or does not answer in time.
pub fn health(args: &HealthArgs) -> Result<(), Failure> {
    let is_healthy = match &args.address {
        Address::Tcp(address) => TcpStream::connect_timeout(address, args.timeout).and_then(|stream| {
            stream.set_read_timeout(Some(args.timeout))?;
            stream.set_write_timeout(Some(args.timeout))?;
            is_healthy(stream, &address.to_string())
        }),
        Address::Unix(path) => UnixStream::connect(path).and_then(|stream| {
            stream.set_read_timeout(Some(args.timeout))?;
            stream.set_write_timeout(Some(args.timeout))?;
            is_healthy(stream, "localhost")
        }),
    };
    match is_healthy {
        Ok(true) => print("ok\n"),
        Ok(false) => Err(Failure::Failed(format!("{} is not healthy", args.address))),
        Err(error) => Err(Failure::Failed(format!("no response from {}: {error}", args.address))),
    }
}

/// Whether the server at the other end of a connection answers 200.
fn is_healthy(mut stream: impl Read + Write, host: &str) -> io::Result<bool> {
    stream.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())?;
    // The beginning of the status line suffices.
    let mut start = [0; 12];
    stream.read_exact(&mut start)?;
    Ok(start == *b"HTTP/1.1 200")
}
