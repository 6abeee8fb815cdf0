//! Which cores the two sides run on, and how busy they keep them.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where a program may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cores {
    /// On the server's core.
    Server,
    /// On two cores, however many there are.
    Two,
    /// Wherever this process may, as long as it is not bound itself.
    All,
}

/// The cores that this process may use, and how it shares them between the server and the load.
#[derive(Debug)]
pub(crate) struct Machine {
    cores: Vec<u32>,
    taskset: bool,
}

impl Machine {
    /// Looks at this process's own allowance, before anything is pinned.
    pub(crate) fn look() -> Machine {
        let cores = allowed_cores().unwrap_or_default();
        let taskset = Command::new("taskset").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        Machine { cores, taskset: taskset.is_ok_and(|status| status.success()) }
    }

    /// The core for the server and the core for the load, when there are two and a tool to bind them.
    fn sides(&self) -> Option<(u32, u32)> {
        match self.cores[..] {
            [server, load, ..] if self.taskset => Some((server, load)),
            _ => None,
        }
    }

    /// A command for `program` that is bound to some cores, if it can be.
    pub(crate) fn command(&self, program: &OsStr, cores: Cores) -> Command {
        let list = match (self.sides(), cores) {
            (Some((server, _)), Cores::Server) => server.to_string(),
            (Some((server, load)), Cores::Two) => format!("{server},{load}"),
            (None, _) | (_, Cores::All) => return Command::new(program),
        };
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &list]).arg(program);
        command
    }

    /// Binds this process, hence the load generator, to the load's core.
    pub(crate) fn pin_load(&self) {
        let Some((_, load)) = self.sides() else { return };
        let process = std::process::id().to_string();
        let pinned = Command::new("taskset")
            .args(["--all-tasks", "--cpu-list", "--pid", &load.to_string(), &process])
            .stdout(Stdio::null())
            .status();
        if !pinned.is_ok_and(|status| status.success()) {
            eprintln!("the load generator could not be bound to core {load}; it runs on any");
        }
    }

    /// How many cores this process may use.
    pub(crate) fn cores(&self) -> usize {
        self.cores.len().max(1)
    }

    /// One sentence for the reader of the table.
    pub(crate) fn describe(&self) -> String {
        match self.sides() {
            Some((server, load)) => format!(
                "{} cores; in reads, servers are bound to core {server} and the load generator (one thread) to core {load}",
                self.cores.len()
            ),
            None => "nothing is bound to a core: that takes two cores and `taskset`".to_owned(),
        }
    }
}

/// The list in `/proc/self/status`, such as `0-1,4`.
fn allowed_cores() -> Option<Vec<u32>> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_cores(list.trim())
}

fn parse_cores(list: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some(cores)
}

/// Meters how long a process is at work, on whichever core.
#[derive(Debug)]
pub(crate) struct Work {
    process: u32,
    before: Duration,
}

impl Work {
    /// Starts metering.
    pub(crate) fn start(process: u32) -> Work {
        Work { process, before: cpu_time(process).unwrap_or_default() }
    }

    /// The time at work since the start; zero where the system does not report.
    pub(crate) fn so_far(&self) -> Duration {
        cpu_time(self.process).unwrap_or_default().saturating_sub(self.before)
    }
}

/// The time that all threads of a process have had a core so far: to the nanosecond, where `/proc/PID/stat` counts in
/// hundredths of a second.
fn cpu_time(process: u32) -> Option<Duration> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
        // A thread may end between the listing and the look at it.
        let Ok(text) = std::fs::read_to_string(thread.ok()?.path().join("schedstat")) else { continue };
        nanoseconds += text.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

/// The time that all cores together have worked so far for anybody, or were withheld by the machine's host.
pub(crate) fn all_work() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system, (idle, iowait,) irq, softirq, steal: in hundredths of a second
    let busy: u64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&field| fields.get(field)).sum();
    Duration::from_millis(busy * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists_are_ranges_and_single_cores() {
        assert_eq!(parse_cores("0-1"), Some(vec![0, 1]));
        assert_eq!(parse_cores("3"), Some(vec![3]));
        assert_eq!(parse_cores("0-2,5,7-8"), Some(vec![0, 1, 2, 5, 7, 8]));
        assert_eq!(parse_cores("none"), None);
    }

    #[test]
    fn one_core_is_not_shared_out() {
        assert_eq!(Machine { cores: vec![0], taskset: true }.sides(), None);
        assert_eq!(Machine { cores: vec![4, 6], taskset: true }.sides(), Some((4, 6)));
        assert_eq!(Machine { cores: vec![4, 6], taskset: false }.sides(), None);
    }
}
