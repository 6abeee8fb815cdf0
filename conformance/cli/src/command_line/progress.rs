//! Progress of a run on standard error: a status line that is redrawn where a terminal can show one, else a line for each probe
//! and for each wait.

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::output;
use animal_store_conformance::Event;
use animal_store_conformance::layout::cut;
use animal_store_conformance::redaction::printable;

/// The minimum duration of a wait that gets a line of its own.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// The time between redraws of the status line, short enough for a countdown in seconds.
const TICK: Duration = Duration::from_millis(125);

/// The amount of progress that is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verbosity {
    /// No progress.
    Silent,
    /// A status line only, where a terminal can show one.
    LiveOnly,
    /// A line for each probe and each wait, or a status line.
    Probes,
    /// A line for each exchange as well.
    Exchanges,
}

/// Shows the progress of a run.
pub(super) struct Progress {
    verbosity: Verbosity,
    state: Arc<Mutex<State>>,
    bar: Option<ProgressBar>,
}

/// The state of the run, as far as its events show it.
#[derive(Debug, Default)]
struct State {
    probe: &'static str,
    /// The requests beside the plan that are sent at the moment.
    aside: Option<&'static str>,
    /// The number of probes that have begun, without preflight.
    begun: usize,
    /// The number of probes and the maximum number of requests, once known.
    planned: Option<(usize, usize)>,
    sent: usize,
    left: Option<usize>,
    waiting: Option<(Instant, String)>,
}

impl Progress {
    /// Starts, with a status line if standard error is a terminal that can show one.
    pub(super) fn begin(verbosity: Verbosity) -> Progress {
        let state = Arc::<Mutex<State>>::default();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_dumb = set("TERM").is_none_or(|kind| kind == "dumb");
        let can_redraw = std::io::stderr().is_terminal() && !is_dumb && set("CI").is_none();
        if verbosity == Verbosity::Silent || !can_redraw {
            return Progress { verbosity, state, bar: None };
        }
        let drawn = Arc::clone(&state);
        let text = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let columns =
                terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
            let state = drawn.lock().unwrap_or_else(PoisonError::into_inner);
            // A failure to draw is ignored: the next tick redraws the line.
            // The spinner and a space precede the text, and the last column stays empty.
            let _redrawn_soon = out.write_str(&state.text(Instant::now(), columns.saturating_sub(3)));
        };
        let style = ProgressStyle::with_template("{spinner} {text}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("text", text)
            .tick_chars(r"|/-\ ");
        let bar = ProgressBar::no_length().with_style(style);
        bar.enable_steady_tick(TICK);
        Progress { verbosity, state, bar: Some(bar) }
    }

    /// Shows an event.
    pub(super) fn show(&self, event: &Event) {
        let line = {
            let mut state = self.state();
            state.update(event, Instant::now());
            self.line_for(event, &state)
        };
        // Drawing the status line locks the state, so it must not be locked here.
        if let Some(line) = line {
            self.say(&line);
        }
    }

    /// Reports that the run was interrupted.
    pub(super) fn interrupted(&self) {
        if self.verbosity != Verbosity::Silent {
            let sent = self.state().sent;
            self.say(&format!(
                "interrupted: {sent} requests were sent. The report on them follows; nothing more is sent."
            ));
        }
    }

    /// Prints a line on standard error, above the status line.
    pub(super) fn say(&self, text: &str) {
        let print = || output::say(text);
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the status line.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Plain data, consistent at any time: a panic elsewhere does not invalidate it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line for an event, if it gets one.
    fn line_for(&self, event: &Event, state: &State) -> Option<String> {
        if let (Event::Exchange { number, method, target, answer, .. }, Verbosity::Exchanges) = (event, self.verbosity)
        {
            return Some(format!("{number:>4} {answer} {method} {target}"));
        }
        let line = match event {
            // Findings and notes are printed at once, above a status line too.
            Event::Broken { id, title } => return self.prints_lines().then(|| format!("✗ {id}: {title}")),
            Event::Aside(name) => (*name).to_owned(),
            Event::Note(note) => return self.prints_lines().then(|| format!("note: {note}")),
            Event::Probe(_) => state.text(Instant::now(), usize::MAX),
            Event::Waiting { time, reason } if *time >= WORTH_A_LINE => {
                format!("waiting {:.0} s for {reason}", time.as_secs_f64().ceil())
            }
            Event::NoResponseYet { timeout, detail } => {
                format!("no response yet ({detail}): waiting up to {} s for the server", timeout.as_secs())
            }
            _ => return None,
        };
        // An event that the status line shows gets a line of its own only if every exchange does.
        (self.prints_lines() && (self.bar.is_none() || self.verbosity == Verbosity::Exchanges)).then_some(line)
    }

    fn prints_lines(&self) -> bool {
        matches!(self.verbosity, Verbosity::Probes | Verbosity::Exchanges)
    }
}

impl State {
    fn update(&mut self, event: &Event, now: Instant) {
        match event {
            Event::NoResponseYet { timeout, detail } => {
                self.waiting = Some((now + *timeout, format!("the server to respond ({detail})")));
            }
            Event::Aside(name) => {
                self.aside = Some(name);
                self.waiting = None;
            }
            Event::Planned { probes, requests } => self.planned = Some((*probes, *requests)),
            Event::Probe(probe) => {
                self.begun += usize::from(self.planned.is_some());
                self.probe = probe;
                self.aside = None;
                self.waiting = None;
            }
            Event::Exchange { number, left, .. } => {
                self.sent = *number;
                self.left = Some(*left);
                self.waiting = None;
            }
            Event::Waiting { time, reason } => self.waiting = Some((now + *time, (*reason).to_owned())),
            // Notes and broken requirements change no state.
            _ => {}
        }
    }

    /// The probe, the wait and the number of requests, in at most this many columns.
    fn text(&self, now: Instant, columns: usize) -> String {
        let mut parts = vec![match (self.aside, self.planned) {
            (Some(aside), _) => aside.to_owned(),
            (None, Some((probes, _))) if self.begun > 0 => format!("{} {}/{probes}", self.probe, self.begun),
            _ => self.probe.to_owned(),
        }];
        if let Some((until, reason)) = &self.waiting
            && *until > now
        {
            // Rounded up, so that the countdown ends at 0:01.
            let seconds = (*until - now).as_secs_f64().ceil();
            let (minutes, seconds) = ((seconds / 60.0).floor(), seconds % 60.0);
            parts.push(format!("waiting {minutes:.0}:{seconds:02.0} for {reason}"));
        }
        parts.push(match (self.planned, self.left) {
            // Reads that are repeated, and failures that are simplified, come on top of the plan.
            (Some((_, requests)), Some(left)) if self.sent <= requests => {
                format!("{}/{requests} requests, budget {left}", self.sent)
            }
            (_, Some(left)) => format!("{} requests, budget {left}", self.sent),
            (_, None) => String::new(),
        });
        parts.retain(|part| !part.is_empty());
        cut(&printable(&parts.join(" · ")).replace('\n', " "), columns)
    }
}

#[cfg(test)]
mod tests {
    use animal_store_conformance::Answer;

    use super::*;

    fn exchange(number: usize, left: usize) -> Event {
        let (method, target) = ("GET".to_owned(), "/pets".to_owned());
        Event::Exchange { number, method, target, answer: Answer::Status(429), left }
    }

    /// The state of a run that waits in its last probe, and when that wait began.
    fn waiting() -> (State, Instant) {
        let (mut state, now) = (State::default(), Instant::now());
        for event in [
            Event::Probe("preflight"),
            Event::Planned { probes: 2, requests: 141 },
            Event::Probe("tour"),
            Event::Probe("quota"),
            exchange(79, 2_421),
            Event::Waiting { time: Duration::from_secs(63), reason: "Retry-After" },
        ] {
            state.update(&event, now);
        }
        (state, now)
    }

    #[test]
    fn the_status_line_counts_down_to_what_it_waits_for() {
        let (mut state, now) = waiting();
        let at = |state: &State, seconds: f64| state.text(now + Duration::from_secs_f64(seconds), 200);
        let counts = "79/141 requests, budget 2421";
        let place = "quota 2/2";
        let reason = "for Retry-After";
        assert_eq!(at(&state, 0.0), format!("{place} · waiting 1:03 {reason} · {counts}"));
        assert_eq!(at(&state, 3.5), format!("{place} · waiting 1:00 {reason} · {counts}"));
        assert_eq!(at(&state, 62.9), format!("{place} · waiting 0:01 {reason} · {counts}"));
        assert_eq!(at(&state, 63.0), format!("{place} · {counts}"));
        state.update(&exchange(80, 2_420), now);
        assert_eq!(at(&state, 1.0), format!("{place} · 80/141 requests, budget 2420"));
    }

    #[test]
    fn the_status_line_stays_within_its_columns() {
        let (state, now) = waiting();
        for columns in [0, 1, 20, 61] {
            let text = state.text(now, columns);
            assert!(animal_store_conformance::layout::width(&text) <= columns, "{columns}: {text}");
        }
    }

    #[test]
    fn what_comes_on_top_of_the_plan_is_neither_counted_as_a_step_nor_held_against_the_bound() {
        let (mut state, now) = waiting();
        state.update(&Event::Aside("second look"), now);
        state.update(&exchange(159, 2_341), now);
        assert_eq!(state.text(now, 200), "second look · 159 requests, budget 2341");
    }
}
