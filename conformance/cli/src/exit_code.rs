//! The exit codes of `conform`, defined here and nowhere else.

use animal_store_rules::verdict::Verdict;

/// The outcome of a command. The values are a promise: pipelines branch on them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[repr(u8)]
pub enum ExitCode {
    /// 0: the server conforms, or another command has succeeded.
    Success = 0,
    /// 1: the server violates a requirement, or a known failure has expired. For `diff`: a requirement or the verdict got worse.
    Violation = 1,
    /// 2: a usage or configuration error. Nothing was sent, except for a `--plan` that the first responses contradict.
    Usage = 2,
    /// 3: the run could not take place (the host is unreachable, the key is rejected), or its output or a report
    /// could not be written.
    CouldNotRun = 3,
    /// 4: nothing failed, but a selected stated requirement was not exercised.
    Incomplete = 4,
    /// 130: interrupted by Ctrl-C; by convention 128 and the number of the signal SIGINT.
    Interrupted = 128 + 2,
    /// 143: terminated; by convention 128 and the number of the signal SIGTERM.
    Terminated = 128 + 15,
}

impl ExitCode {
    /// The number that the process ends with.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        match verdict {
            Verdict::Conforms => ExitCode::Success,
            Verdict::Violates => ExitCode::Violation,
            Verdict::Incomplete => ExitCode::Incomplete,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code.number())
    }
}
