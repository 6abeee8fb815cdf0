//! What is told while a run goes on, on standard error: a line that keeps changing where a terminal can show one, else a line
//! for each probe and for each wait.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::events::Event;
use crate::layout::cut;

/// Waits shorter than this are not worth a line of their own.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// How often the changing line is drawn anew: often enough for a countdown in seconds.
const TICK: Duration = Duration::from_millis(125);

/// The changing line: a sign of life, a bar, and words.
const TEMPLATE: &str = "{spinner} [{bar:10}] {words}";

/// The columns that the template takes besides the words.
const BESIDES_WORDS: usize = 15;

/// How much is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Talk {
    /// Nothing.
    Nothing,
    /// Nothing but a changing line, where a terminal can show one.
    LiveOnly,
    /// A line for each probe and each wait, or a changing line.
    Probes,
    /// A line for each exchange as well.
    Exchanges,
}

/// Tells people what happens.
pub(super) struct Teller {
    talk: Talk,
    seen: Arc<Mutex<Seen>>,
    bar: Option<ProgressBar>,
}

/// What has been heard of the run.
#[derive(Debug, Default)]
struct Seen {
    probe: &'static str,
    /// How many probes have begun, without preflight.
    begun: usize,
    /// How many probes there are and how many requests they take at the most, once that is known.
    planned: Option<(usize, usize)>,
    sent: usize,
    left: Option<usize>,
    waiting: Option<(Instant, String)>,
}

impl Teller {
    /// Begins to tell: on a changing line if standard error is a terminal that can show one.
    pub(super) fn begin(talk: Talk) -> Teller {
        let seen = Arc::default();
        let bar = (talk != Talk::Nothing && can_redraw()).then(|| changing_line(&seen));
        Teller { talk, seen, bar }
    }

    /// Tells of an event.
    pub(super) fn tell(&self, event: &Event) {
        let line = {
            let mut seen = self.seen();
            seen.hear(event, Instant::now());
            self.line_for(event, &seen)
        };
        // The bar asks for what has been seen while it is drawn, so that must not be held here.
        if let Some(bar) = &self.bar {
            let (sent, planned) = {
                let seen = self.seen();
                (seen.sent, seen.planned)
            };
            if let Some((_, requests)) = planned {
                bar.set_length(requests.max(sent) as u64);
            }
            bar.set_position(sent as u64);
        }
        if let Some(line) = line {
            self.say(&line);
        }
    }

    /// Says that the run was interrupted, and what it leaves undone.
    pub(super) fn interrupted(&self) {
        if self.talk != Talk::Nothing {
            let words = self.seen().interrupted();
            self.say(&words);
        }
    }

    /// Prints a line on standard error, above the changing one.
    pub(super) fn say(&self, text: &str) {
        let print = || {
            let _nobody_reads = writeln!(anstream::stderr(), "{text}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the changing line away. What is printed afterwards stands alone.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Plain data, whole at any time: a panic elsewhere takes nothing away from it.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line that an event is worth, if it is.
    fn line_for(&self, event: &Event, seen: &Seen) -> Option<String> {
        if let (Event::Exchange { number, request, outcome, .. }, Talk::Exchanges) = (event, self.talk) {
            return Some(format!("{number:>4} {outcome} {request}"));
        }
        let lasting = match event {
            Event::Note(note) => return self.talks().then(|| format!("note: {note}")),
            Event::Probe(_) => seen.probe_line(),
            Event::Waiting { time, reason } if *time >= WORTH_A_LINE => {
                format!("waiting {:.0} s for {reason}", time.as_secs_f64().ceil())
            }
            Event::NothingYet { patience, detail } => {
                format!("nothing answers yet ({detail}): waiting up to {} s for the server", patience.as_secs())
            }
            _ => return None,
        };
        // What the changing line shows anyway is told again only to those who want every exchange.
        (self.talks() && (self.bar.is_none() || self.talk == Talk::Exchanges)).then_some(lasting)
    }

    fn talks(&self) -> bool {
        matches!(self.talk, Talk::Probes | Talk::Exchanges)
    }
}

/// Whether standard error is a terminal on which a line can be drawn again.
fn can_redraw() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = match set("TERM") {
        Some(kind) => kind == "dumb",
        None => cfg!(unix),
    };
    std::io::stderr().is_terminal() && !dumb && set("CI").is_none()
}

fn changing_line(seen: &Arc<Mutex<Seen>>) -> ProgressBar {
    let seen = Arc::clone(seen);
    let words = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody is told when drawing fails: the next tick draws again.
        let _redrawn_soon = out.write_str(&seen.words(Instant::now(), columns.saturating_sub(BESIDES_WORDS + 1)));
    };
    let style = ProgressStyle::with_template(TEMPLATE)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("words", words)
        .tick_chars(r"|/-\ ")
        .progress_chars("=> ");
    let bar = ProgressBar::no_length().with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

impl Seen {
    fn hear(&mut self, event: &Event, now: Instant) {
        match event {
            Event::NothingYet { patience, detail } => {
                self.waiting = Some((now + *patience, format!("the server to answer ({detail})")));
            }
            Event::Note(_) => {}
            Event::Planned { probes, requests } => self.planned = Some((*probes, *requests)),
            Event::Probe(probe) => {
                self.begun += usize::from(self.planned.is_some());
                self.probe = probe;
                self.waiting = None;
            }
            Event::Exchange { number, left, .. } => {
                self.sent = *number;
                self.left = Some(*left);
                self.waiting = None;
            }
            Event::Waiting { time, reason } => self.waiting = Some((now + *time, (*reason).to_owned())),
        }
    }

    /// Which probe it is, and which of how many.
    fn place(&self) -> String {
        match self.planned {
            Some((probes, _)) if self.begun > 0 => format!("{} ({} of {probes})", self.probe, self.begun),
            _ => self.probe.to_owned(),
        }
    }

    fn probe_line(&self) -> String {
        match self.planned {
            Some((_, requests)) => {
                format!("{}: {} of at most {requests} requests sent", self.place(), self.sent)
            }
            None => self.place(),
        }
    }

    fn interrupted(&self) -> String {
        let undone = match self.planned {
            Some((_, requests)) => format!(", and up to {} were left undone", requests.saturating_sub(self.sent)),
            None => String::new(),
        };
        let place = if self.probe.is_empty() { String::new() } else { format!(" in {}", self.place()) };
        format!(
            "interrupted{place}: {} requests were sent{undone}. What they show follows; nothing more is sent.",
            self.sent
        )
    }

    /// The words of the changing line, in at most so many columns.
    fn words(&self, now: Instant, columns: usize) -> String {
        let mut parts = vec![match self.planned {
            Some((probes, _)) if self.begun > 0 => format!("{} {}/{probes}", self.probe, self.begun),
            _ => self.probe.to_owned(),
        }];
        if let Some((until, reason)) = &self.waiting
            && *until > now
        {
            // Rounded up, so that it ends at 0:01 and not with a second of 0:00.
            let seconds = (*until - now).as_secs_f64().ceil();
            let (minutes, seconds) = ((seconds / 60.0).floor(), seconds % 60.0);
            parts.push(format!("waiting {minutes:.0}:{seconds:02.0} for {reason}"));
        }
        parts.push(match (self.planned, self.left) {
            (Some((_, requests)), Some(left)) => {
                format!("{}/{requests} requests, budget {left}", self.sent)
            }
            (None, Some(left)) => format!("{} requests, budget {left}", self.sent),
            (_, None) => String::new(),
        });
        parts.retain(|part| !part.is_empty());
        cut(&parts.join(" · "), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has been heard of a run that waits in its last probe, and when that began.
    fn waiting() -> (Seen, Instant) {
        let (mut seen, now) = (Seen::default(), Instant::now());
        for event in [
            Event::Probe("preflight"),
            Event::Planned { probes: 2, requests: 141 },
            Event::Probe("tour"),
            Event::Probe("quota"),
            Event::Exchange { number: 79, request: "GET /pets".into(), outcome: "429".into(), left: 2_421 },
            Event::Waiting { time: Duration::from_secs(63), reason: "the time that Retry-After tells" },
        ] {
            seen.hear(&event, now);
        }
        (seen, now)
    }

    #[test]
    fn the_changing_line_counts_down_to_what_it_waits_for() {
        let (mut seen, now) = waiting();
        let at = |seen: &Seen, seconds: f64| seen.words(now + Duration::from_secs_f64(seconds), 200);
        let counts = "79/141 requests, budget 2421";
        let place = "quota 2/2";
        let reason = "for the time that Retry-After tells";
        assert_eq!(at(&seen, 0.0), format!("{place} · waiting 1:03 {reason} · {counts}"));
        assert_eq!(at(&seen, 3.5), format!("{place} · waiting 1:00 {reason} · {counts}"));
        assert_eq!(at(&seen, 62.9), format!("{place} · waiting 0:01 {reason} · {counts}"));
        assert_eq!(at(&seen, 63.0), format!("{place} · {counts}"));
        let next = Event::Exchange { number: 80, request: String::new(), outcome: String::new(), left: 2_420 };
        seen.hear(&next, now);
        assert_eq!(at(&seen, 1.0), format!("{place} · 80/141 requests, budget 2420"));
    }

    #[test]
    fn the_changing_line_stays_within_its_columns() {
        let (seen, now) = waiting();
        for columns in [0, 1, 20, 61] {
            let words = seen.words(now, columns);
            assert!(crate::layout::width(&words) <= columns, "{columns}: {words}");
        }
    }

    #[test]
    fn before_anything_is_planned_only_the_probe_is_told() {
        let mut seen = Seen::default();
        seen.hear(&Event::Probe("preflight"), Instant::now());
        assert_eq!((seen.words(Instant::now(), 80), seen.probe_line()), ("preflight".into(), "preflight".into()));
        assert_eq!(seen.interrupted().split(':').next(), Some("interrupted in preflight"));
    }

    #[test]
    fn an_interrupted_run_tells_what_it_leaves_undone() {
        let words = waiting().0.interrupted();
        assert!(words.contains("in quota (2 of 2): 79 requests were sent, and up to 62 were left undone"), "{words}");
    }
}
