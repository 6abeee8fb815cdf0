//! The trial of the programs that `cargo xtask dist` has built: the static judge judges the static reference server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::products::{JUDGE, Programs, REFERENCE};

/// A key of the server that is tried.
const KEY: &str = "trial-of-static-programs";

/// Judges the server over a Unix socket with the functional profile; an error unless it conforms.
pub(super) fn run(programs: &Programs) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("no folder for the socket of the trial")?;
    let socket = folder.path().join("reference.socket");
    let mut server = Command::new(programs.path(REFERENCE));
    server.args(["serve", "--db", ":memory:", "--key", &format!("pro={KEY}"), "--listen"]);
    server.arg(format!("unix:{}", socket.display())).stdout(Stdio::piped()).stdin(Stdio::null());
    let mut server = Server(server.spawn().context("the static server does not start")?);
    let output = server.0.stdout.take().context("its standard output is a pipe")?;
    let said = BufReader::new(output).lines().map_while(Result::ok).any(|line| line.starts_with("listening on "));
    anyhow::ensure!(said, "the static server ended before it listened");
    let mut judge = Command::new(programs.path(JUDGE));
    judge.args([
        "--no-config",
        "--profile",
        "functional",
        "--base-url",
        "http://reference.invalid/v1",
        "--unix-socket",
    ]);
    judge.arg(&socket).env("CONFORM_API_KEY", KEY);
    let output = judge.output().context("the static judge does not start")?;
    let report = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the static server does not conform: {}\n{report}{said}", output.status);
    println!("{}", report.lines().next().unwrap_or_default());
    Ok(())
}

/// A running server, which ends with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}
