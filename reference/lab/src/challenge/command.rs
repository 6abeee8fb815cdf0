//! Runs the command of a user with the address and the key of a server, within a time limit, and ends all processes that it started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::pin::pin;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::words::CommandLine;
use crate::printable::Printable;

/// The number of bytes at the end of an output that are kept.
const TAIL: usize = 16 * 1024;

/// The number of bytes that are kept before the tail: a secret may begin in them and end in the tail.
const BEFORE_TAIL: usize = 4 * 1024;

/// The time for which the output of a command is read after its end: its child processes may hold the output open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// The environment variable in which a command finds the key.
const KEY_VARIABLE: &str = "CHALLENGE_KEY";

/// The maximum number of searches for processes that have left the group of a command.
const MOST_ROUNDS: usize = 20;

/// The way in which a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    WithCode(i32),
    BySignal,
    /// The command was killed because its time was up.
    TooLate,
}

/// A test suite.
pub(super) struct Suite {
    command: Vec<OsString>,
    line: CommandLine,
    timeout: Duration,
}

impl Suite {
    /// A suite that is run by a command, whose first part is the program.
    pub(super) fn new(command: &[OsString], timeout: Duration) -> Suite {
        Suite { command: command.to_vec(), line: CommandLine::new(command), timeout }
    }

    /// The command line of the suite.
    pub(super) fn line(&self) -> &CommandLine {
        &self.line
    }

    /// Runs the suite against a server. Returns the way in which it ended, and the end of its output. An error is a sentence.
    pub(super) async fn run(&self, url: &str, key: &str) -> Result<(Ended, Printable), String> {
        let mut parts = self.command.iter().map(|part| filled_in(part, url, key));
        let program = parts.next().unwrap_or_default();
        let mut command = Command::new(&program);
        command.args(parts).env("CHALLENGE_URL", url).env(KEY_VARIABLE, key);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that the child processes of the command can be ended with it.
        command.process_group(0);
        let child = command.spawn().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let mut running = Running::new(child, key);

        let tail = Mutex::new(Vec::new());
        let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
        let mut output = pin!(async { tokio::join!(keep_tail(stdout, &tail), keep_tail(stderr, &tail)) });
        let mut ending = pin!(tokio::time::timeout(self.timeout, running.child.wait()));
        let status = tokio::select! {
            status = &mut ending => {
                // Later output is of no interest.
                let _ = tokio::time::timeout(LAST_OUTPUT, output).await;
                status
            }
            _ = &mut output => ending.await,
        };
        let ended = match status {
            Err(_elapsed) => Ended::TooLate,
            Ok(Ok(status)) => status.code().map_or(Ended::BySignal, Ended::WithCode),
            Ok(Err(error)) => return Err(format!("cannot wait for {}: {error}", program.display())),
        };
        let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((ended, end_of(&self.line.output(&tail, key)).into()))
    }
}

/// A running command. Dropping it kills the command and all processes that it has started, also those that have left its group.
struct Running {
    child: Child,
    group: Option<Pid>,
    /// The key of the server, which nothing but this command has in its environment.
    key: String,
}

impl Running {
    fn new(child: Child, key: &str) -> Running {
        // The id is read now, because a command that has ended has no id any more.
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Running { child, group, key: key.to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Usually no process of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A process may have started another one just before it was killed.
        for _ in 0..MOST_ROUNDS {
            let left = with_key(&self.key);
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// The processes that have this key in their environment, if the system has /proc.
fn with_key(key: &str) -> Vec<Pid> {
    let marker = format!("{KEY_VARIABLE}={key}");
    let mut processes = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| Pid::from_raw(name.parse().ok()?)) else { continue };
        // The environment of processes of other users cannot be read, and that of an ended process is empty.
        let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes()) {
            processes.push(process);
        }
    }
    processes
}

/// Completes at Ctrl-C, SIGTERM or SIGHUP.
pub(super) fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
        .into_iter()
        .map(signal)
        .collect::<std::io::Result<Vec<_>>>()?;
    Ok(async move {
        std::future::poll_fn(|context| {
            if signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    })
}

/// A part of a command line with the address and the key in it.
fn filled_in(part: &OsStr, url: &str, key: &str) -> OsString {
    let mut out = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"{url}") {
            out.extend_from_slice(url.as_bytes());
            rest = after;
        } else if let Some(after) = rest.strip_prefix(b"{key}") {
            out.extend_from_slice(key.as_bytes());
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(out)
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

/// The end of a text.
fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(TAIL))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, timeout: Duration) -> (Ended, String) {
        let (ended, output) = suite(script, timeout).await;
        (ended, output.to_string())
    }

    async fn suite(script: &str, timeout: Duration) -> (Ended, Printable) {
        let command = ["sh", "-c", script].map(OsString::from);
        // Processes are found by their key, and these tests run at the same time.
        let key = format!("ask_1_{}", fastrand::u64(..));
        Suite::new(&command, timeout).run("http://127.0.0.1:1/v1", &key).await.expect("a shell")
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_command_gets_the_address_and_the_key_in_its_line_and_in_its_environment() {
        let (ended, output) = shell("echo {url} {key}; echo $CHALLENGE_URL $CHALLENGE_KEY >&2; exit 3", LONG).await;
        assert_eq!(ended, Ended::WithCode(3));
        assert_eq!(output.lines().collect::<Vec<_>>(), ["http://127.0.0.1:1/v1 {key}"; 2]);
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_killed_with_what_it_has_started() {
        let (ended, output) = shell("sleep 1000 & echo $!; wait", Duration::from_millis(300)).await;
        assert_eq!(ended, Ended::TooLate);
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
    async fn processes_that_have_left_the_group_are_ended_as_well() {
        // A session of its own, and a double fork without a waiting parent.
        let script =
            "setsid sh -c 'sleep 1000 & echo $!; exec sleep 1000' & (setsid sleep 1000 & echo $!) & sleep 0.3; exit 0";
        let (ended, output) = shell(script, LONG).await;
        assert_eq!(ended, Ended::WithCode(0));
        let started: Vec<&str> = output.lines().collect();
        assert_eq!(started.len(), 2, "{output}");
        for process in started {
            let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let is_dead = || state().is_empty() || state().contains(") Z ");
            let waiting = tokio::time::timeout(Duration::from_secs(10), async {
                while !is_dead() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            assert!(waiting.await.is_ok(), "{process} is alive: {}", state());
        }
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_does_not_keep_it_from_ending() {
        let (ended, output) = shell("sleep 1000 & echo done", LONG).await;
        assert_eq!((ended, output.as_str()), (Ended::WithCode(0), "done\n"));
    }

    #[tokio::test]
    async fn of_a_long_output_the_end_is_kept() {
        let (_, output) = shell("yes | head -c 100000; echo last", LONG).await;
        assert!(output.len() <= TAIL && output.ends_with("last\n"), "{} bytes", output.len());
    }

    #[tokio::test]
    async fn a_command_that_does_not_exist_is_an_error_with_its_name() {
        let suite = Suite::new(&["./no-such-suite".into()], LONG);
        let error = suite.run("", "").await.expect_err("no such file");
        assert!(error.contains("./no-such-suite"), "{error}");
    }
}
