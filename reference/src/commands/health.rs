//! `reference health`: asks a running server whether it is well.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::cli::{Failure, print};
use crate::config::HealthArgs;

pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    let unwell = |error: std::io::Error| Failure::Failed(format!("no answer from {}: {error}", args.address));
    let mut stream = TcpStream::connect_timeout(&args.address, args.timeout).map_err(unwell)?;
    stream.set_read_timeout(Some(args.timeout)).map_err(unwell)?;
    stream.set_write_timeout(Some(args.timeout)).map_err(unwell)?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", args.address);
    stream.write_all(request.as_bytes()).map_err(unwell)?;
    // The status line is all that counts, and it comes first.
    let mut start = [0; 12];
    stream.read_exact(&mut start).map_err(unwell)?;
    if start == *b"HTTP/1.1 200" {
        print("ok\n")
    } else {
        Err(Failure::Failed(format!("{} is not well", args.address)))
    }
}
