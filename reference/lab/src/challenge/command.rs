//! Runs the command of a user with the address and the key of a server, within a time limit, and ends its process group.

use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, PoisonError};
use std::{pin::pin, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::report::Verdict;
use animal_store_secrets::{Redactor, printable::Printable};

/// The number of bytes at the end of an output that are kept.
const TAIL: usize = 16 * 1024;

/// The number of bytes that are kept before the tail: the key may begin in them and end in the tail.
const BEFORE_TAIL: usize = 4 * 1024;

/// The time for which the output of a command is read after its end: its child processes may hold the output open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// The text that stands for the key of the server in the command line, and in an output.
const KEY: &str = "{key}";

/// Runs the command of a suite against a server. Returns the verdict, and the end of the output. An error is a sentence.
pub(super) async fn run(
    command: &[OsString],
    timeout: Duration,
    url: &str,
    key: &str,
) -> Result<(Verdict, Printable), String> {
    let mut parts = command.iter().map(|part| filled_in(part, url, key));
    let program = parts.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(parts).env("CHALLENGE_URL", url).env("CHALLENGE_KEY", key);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that the child processes of the command can be ended with it.
    command.process_group(0);
    let child = command.spawn().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let mut running = Running::new(child);

    let tail = Mutex::new(Vec::new());
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let mut output = pin!(async { tokio::join!(keep_tail(stdout, &tail), keep_tail(stderr, &tail)) });
    let mut ending = pin!(tokio::time::timeout(timeout, running.child.wait()));
    let status = tokio::select! {
        status = &mut ending => {
            // Later output is of no interest.
            let _ = tokio::time::timeout(LAST_OUTPUT, output).await;
            status
        }
        _ = &mut output => ending.await,
    };
    let verdict = match status {
        Err(_elapsed) => Verdict::TimedOut,
        Ok(Ok(status)) => match status.code() {
            Some(0) => Verdict::Accepted,
            Some(code) => Verdict::Refused { code },
            None => Verdict::Crashed,
        },
        Ok(Err(error)) => return Err(format!("cannot wait for {}: {error}", program.display())),
    };
    let mut redactor = Redactor::default();
    redactor.hide(key, KEY);
    let output = redactor.redact_bytes(&tail.lock().unwrap_or_else(PoisonError::into_inner));
    let text = String::from_utf8_lossy(&output);
    Ok((verdict, text[text.ceil_char_boundary(text.len().saturating_sub(TAIL))..].into()))
}

/// A running command. Dropping it kills its process group.
struct Running {
    child: Child,
    group: Option<Pid>,
    /// Kills the process group when this process ends without dropping the command. Dropping the guard ends it.
    _guard: Option<Child>,
}

impl Running {
    fn new(child: Child) -> Running {
        // The id is read now, because a command that has ended has no id any more.
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Running { child, group, _guard: group.and_then(guard) }
    }
}

/// A process that kills a process group as soon as this process is gone. SIGKILL gives this process no time to do so. Where there is no
/// shell, nothing guards the group.
fn guard(group: Pid) -> Option<Child> {
    let mut command = Command::new("sh");
    // Its standard input ends with this process.
    command.args(["-c", "read -r _; kill -s KILL -- \"-$1\"", "sh"]).arg(group.as_raw_nonzero().to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in a terminal reaches all processes of the group of this one.
    command.process_group(0).kill_on_drop(true).spawn().ok()
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Usually no process of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Completes at Ctrl-C, SIGTERM or SIGHUP.
pub(super) fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate, mut hangup) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// A part of a command line with the address and the key in it. One that is not UTF-8 stays as it is.
fn filled_in(part: &OsStr, url: &str, key: &str) -> OsString {
    part.to_str().map_or_else(|| part.to_owned(), |part| part.replace("{url}", url).replace(KEY, key).into())
}

async fn keep_tail(stream: Option<impl AsyncRead + Unpin>, tail: &Mutex<Vec<u8>>) {
    let Some(mut stream) = stream else { return };
    let mut room = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut room).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&room[..read]);
        let too_many = tail.len().saturating_sub(BEFORE_TAIL + TAIL);
        tail.drain(..too_many);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, timeout: Duration) -> (Verdict, String) {
        let command = ["sh", "-c", script].map(OsString::from);
        let (verdict, output) = run(&command, timeout, "http://127.0.0.1:1/v1", "ask_1_secret").await.expect("a shell");
        (verdict, output.to_string())
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_command_gets_the_address_and_the_key_in_its_line_and_in_its_environment() {
        let (verdict, output) = shell("echo {url} {key}; echo $CHALLENGE_URL $CHALLENGE_KEY >&2; exit 3", LONG).await;
        assert_eq!(verdict, Verdict::Refused { code: 3 });
        assert_eq!(output.lines().collect::<Vec<_>>(), ["http://127.0.0.1:1/v1 {key}"; 2]);
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_killed_with_what_it_has_started() {
        let (verdict, output) = shell("sleep 1000 & echo $!; wait", Duration::from_millis(300)).await;
        assert_eq!(verdict, Verdict::TimedOut);
        let started = output.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
        // The process is gone, or dead and not yet collected by its new parent.
        let is_dead = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", started.as_raw_nonzero())).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        while !is_dead() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_does_not_keep_it_from_ending() {
        let (verdict, output) = shell("sleep 1000 & echo done", LONG).await;
        assert_eq!((verdict, output.as_str()), (Verdict::Accepted, "done\n"));
    }

    #[tokio::test]
    async fn of_a_long_output_the_end_is_kept() {
        let (_, output) = shell("yes | head -c 100000; echo last", LONG).await;
        assert!(output.len() <= TAIL && output.ends_with("last\n"), "{} bytes", output.len());
    }

    #[tokio::test]
    async fn a_command_that_does_not_exist_is_an_error_with_its_name() {
        let error = run(&["./no-such-suite".into()], LONG, "", "").await.expect_err("no such file");
        assert!(error.contains("./no-such-suite"), "{error}");
    }
}
