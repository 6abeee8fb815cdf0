//! The command that a proxy runs, and everything that it starts: they end with the proxy.

use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::{Child, Command};

use animal_store_conformance::Interrupt;

/// The maximum time that a command may take to end after the proxy has ended.
const GRACE: Duration = Duration::from_secs(5);

/// The maximum time that the remaining processes of a command may take to end after SIGTERM.
const LEFT_GRACE: Duration = Duration::from_millis(500);

/// A running command.
pub(super) struct Commanded {
    child: Child,
    /// The processes of the command.
    pub(super) group: Group,
}

impl Commanded {
    /// Starts a command with an environment variable. Its standard output becomes standard error if the report needs standard output alone.
    pub(super) fn start(
        command: &[OsString],
        variable: (&str, &str),
        is_output_taken: bool,
    ) -> std::io::Result<Option<Commanded>> {
        let Some((program, args)) = command.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(args).env(variable.0, variable.1).kill_on_drop(true);
        if is_output_taken {
            command.stdout(Stdio::from(std::io::stderr()));
        }
        let is_grouped = !std::io::IsTerminal::is_terminal(&std::io::stdin());
        if is_grouped {
            command.process_group(0);
        }
        let child = command.spawn()?;
        let leader = child.id().filter(|_| is_grouped);
        let leader = leader.and_then(|leader| rustix::process::Pid::from_raw(leader.cast_signed()));
        Ok(Some(Commanded { child, group: Group(leader) }))
    }

    /// Waits for the command to end, and ends its remaining processes. If the proxy ends first, the command has [`GRACE`] to end. It gets
    /// SIGTERM at the beginning of that time if `is_told` returns true.
    pub(super) async fn wait(mut self, interrupt: &Interrupt, is_told: impl Fn() -> bool) -> Option<ExitStatus> {
        let ended = tokio::select! {
            ended = self.child.wait() => Some(ended),
            () = interrupt.raised() => {
                if is_told() {
                    self.group.signal(Signal::TERM);
                }
                tokio::time::timeout(GRACE, self.child.wait()).await.ok()
            }
        };
        if ended.is_none() {
            self.group.signal(Signal::TERM);
        }
        self.group.end().await;
        match ended {
            Some(ended) => ended.ok(),
            None => {
                let _killed = self.child.start_kill();
                self.child.wait().await.ok()
            }
        }
    }
}

/// The process group of a command. A command that is started from a terminal stays in the group of the proxy, because only this group
/// may read from the terminal. It gets Ctrl-C from the terminal.
#[derive(Clone, Copy)]
pub(super) struct Group(Option<rustix::process::Pid>);

impl Group {
    /// Sends a signal to all processes.
    pub(super) fn signal(self, signal: Signal) {
        if let Some(leader) = self.0 {
            // An error means that the group has no processes left.
            let _ended = rustix::process::kill_process_group(leader, signal);
        }
    }

    /// Ends the remaining processes, first with SIGTERM.
    async fn end(self) {
        let Some(leader) = self.0 else { return };
        let is_left = || rustix::process::test_kill_process_group(leader).is_ok();
        if !is_left() {
            return;
        }
        self.signal(Signal::TERM);
        let gone = async {
            while is_left() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(LEFT_GRACE, gone).await.is_err() {
            self.signal(Signal::KILL);
        }
    }
}
