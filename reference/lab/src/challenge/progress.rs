//! The progress of a challenge: a bar on a terminal, and a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::report::Report;

/// The number of parts of the work: elsewhere than on a terminal, a line is written after each part.
const PARTS: usize = 10;

/// The time without a line after which the next tried server causes one.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// The progress of a challenge, shown on standard error.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    lines: Lines,
}

/// The state that decides when a line is written.
struct Lines {
    servers: usize,
    tried: usize,
    last: Instant,
}

impl Lines {
    /// Counts another tried server. Returns true if a line is due.
    fn advance(&mut self, now: Instant) -> bool {
        let part = |tried: usize| tried * PARTS / self.servers.max(1);
        let is_due = part(self.tried) != part(self.tried + 1) || now.duration_since(self.last) >= LONGEST_SILENCE;
        self.tried += 1;
        if is_due {
            self.last = now;
        }
        is_due
    }
}

impl Progress {
    pub(super) fn new(servers: usize) -> Progress {
        let lines = Lines { servers, tried: 0, last: Instant::now() };
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None, lines };
        }
        let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len}, {eta} left  {wide_msg}");
        let bar = ProgressBar::new(servers as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(125));
        Progress { bar: Some(bar), lines }
    }

    /// Shows that the server of this name was tried, and that the report has its result.
    pub(super) fn advance(&mut self, name: &str, report: &Report) {
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(name.to_owned());
            }
            None if self.lines.advance(Instant::now()) => {
                let refused = report.refused_choices().count() + report.refused().count();
                let (Lines { servers, tried, .. }, missed) = (&self.lines, report.missed().count());
                // Nothing else can be done when standard error is closed.
                let _ = writeln!(
                    std::io::stderr(),
                    "{tried} of {servers} servers tried: {missed} faults missed, {refused} lawful servers refused"
                );
            }
            None => {}
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_for_each_tenth_and_after_a_long_silence() {
        let start = Instant::now();
        let mut lines = Lines { servers: 200, tried: 0, last: start };
        let due: Vec<usize> = (1..=200).filter(|_| lines.advance(start)).collect();
        assert_eq!(due, (1..=10).map(|part| part * 20).collect::<Vec<_>>());
        let mut lines = Lines { servers: 200, tried: 0, last: start };
        assert!(!lines.advance(start + Duration::from_secs(29)) && lines.advance(start + Duration::from_secs(30)));
        assert!(!lines.advance(start + Duration::from_secs(59)));
    }
}
