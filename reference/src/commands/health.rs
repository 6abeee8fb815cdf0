//! `reference health`: asks a running server whether it is healthy.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::outcome::{Failure, print};
use crate::config::HealthArgs;

pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("no response from {}: {error}", args.address));
    let mut stream = TcpStream::connect_timeout(&args.address, args.timeout).map_err(failed)?;
    stream.set_read_timeout(Some(args.timeout)).map_err(failed)?;
    stream.set_write_timeout(Some(args.timeout)).map_err(failed)?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", args.address);
    stream.write_all(request.as_bytes()).map_err(failed)?;
    // The status line is all that counts, and it comes first.
    let mut start = [0; 12];
    stream.read_exact(&mut start).map_err(failed)?;
    if start == *b"HTTP/1.1 200" {
        print("ok\n")
    } else {
        Err(Failure::Failed(format!("{} is not healthy", args.address)))
    }
}
