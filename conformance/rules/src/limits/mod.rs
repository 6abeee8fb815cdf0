//! Explanations: which way of counting explains what a key was answered.
//!
//! A [`Hypothesis`] is one complete way of counting. A server is lawful if one hypothesis explains the whole trace of a key; the one with the
//! fewest contradictions speaks for the server, and what it does not explain is held against the server. Nothing here excuses a
//! response: a lawful policy that is missing is added to the hypotheses.

mod anonymous;
mod evidence;
mod explain;
mod filters;
mod hypothesis;
mod keys;
mod pacing;
mod plan;
mod recovery;
mod share;
mod shared;
mod timeline;

pub use anonymous::Anonymous;
pub use explain::Kind;
pub use filters::Costly;
pub use hypothesis::{Cut, Failures, Figures, Hypothesis, Written};
pub(crate) use keys::one_after_another;
pub use keys::{Answer, KeyLimits, Limiter};
pub use shared::SpentByAnother;

use crate::catalogue::plan::PlanLimits;
use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::{RateHeaders, Window};
pub(crate) use timeline::Part;
use timeline::Timeline;

/// A place where the best explanation of a key fails.
#[derive(Clone, Debug)]
pub struct Finding<'h> {
    /// What is wrong.
    pub kind: Kind,
    /// The exchange that shows it, and the one that it is compared with, if there is one.
    pub entries: Vec<&'h Entry<'h>>,
    /// What was found: a number of requests, or a Unix time.
    pub found: i64,
    /// What bounds it.
    pub bound: i64,
}

impl Finding<'_> {
    /// The window that the exchange in this place reports.
    #[must_use]
    pub fn window(&self, place: usize) -> Option<Window> {
        self.entries.get(place)?.rate.as_ref()?.window()
    }

    /// Whether a Limit, such as that of a day, is reported with a new end after its last one has passed, although the end of its window
    /// cannot have come.
    #[must_use]
    pub fn is_new_end(&self) -> bool {
        let earlier = self.window(1).filter(|_| self.kind == Kind::ResetMoves);
        earlier.is_some_and(|earlier| {
            self.entries[0].answered_at().as_second() >= earlier.reset - Tolerance::CLOCK_SLACK.seconds()
        })
    }
}

/// The best explanation of what a key was answered.
#[derive(Debug)]
pub struct Explanation<'h> {
    /// The way of counting with the fewest contradictions.
    pub hypothesis: Option<Hypothesis>,
    /// What the hypothesis does not explain, in the order of sending.
    pub findings: Vec<Finding<'h>>,
    /// The refusals that could be judged.
    pub refusals: Vec<&'h Entry<'h>>,
    /// The refusal that the requests of the run alone explain: the first one, if there was no room for it and nobody else uses the key. Any
    /// other refusal may be that of a ban.
    pub earned: Option<&'h Entry<'h>>,
    compared: usize,
    never_falls: Option<[&'h Entry<'h>; 2]>,
    outlasts_a_window: bool,
}

impl<'h> Explanation<'h> {
    /// Explains what a key was answered, given the requests that bear on its count, and the limits of its plan if they are known.
    ///
    /// What repeats an earlier response may be a copy that a cache kept. Where that explains more, each copy is one contradiction, and
    /// says nothing else.
    #[must_use]
    pub(crate) fn of(parts: &[(&'h Entry<'h>, Part)], plan: Option<PlanLimits>) -> Explanation<'h> {
        let plan = plan.map(|limits| (limits.per_minute as i64, limits.per_day as i64));
        let found = Explanation::with(&Timeline::new(parts, &[]), plan);
        let copies: Vec<Finding<'h>> = copies(parts);
        if copies.is_empty() || found.findings.len() <= copies.len() {
            return found;
        }
        let ignored: Vec<usize> = copies.iter().map(|copy| copy.entries[0].exchange.number).collect();
        let mut without = Explanation::with(&Timeline::new(parts, &ignored), plan);
        without.findings.extend(copies);
        without.findings.sort_by_key(|finding| finding.entries[0].exchange.number);
        if without.findings.len() < found.findings.len() { without } else { found }
    }

    fn with(timeline: &Timeline<'h>, plan: Option<(i64, i64)>) -> Explanation<'h> {
        let best = explain::explain(timeline, plan);
        let entry = |at: usize| timeline.events[at].entry;
        let mut contradictions = best.evaluation.contradictions;
        contradictions.sort_by_key(|found| found.at);
        let findings = contradictions.iter().map(|found| Finding {
            kind: found.kind,
            entries: std::iter::once(found.at).chain(found.with.filter(|with| *with != found.at)).map(entry).collect(),
            found: found.found,
            bound: found.bound,
        });
        let findings: Vec<Finding<'h>> = findings.collect();
        let pairs = timeline.successive();
        let is_flat = |pair: &[usize; 2]| {
            let [before, after] = pair.map(|at| timeline.events[at].report);
            before.zip(after).is_some_and(|(before, after)| after.used <= before.used && after.used < after.limit)
        };
        Explanation {
            compared: pairs.len(),
            outlasts_a_window: timeline.outlasts_a_window(),
            never_falls: pairs
                .last()
                .filter(|_| pairs.iter().all(is_flat))
                .map(|[before, after]| [entry(*after), entry(*before)]),
            refusals: best.evaluation.refusals.iter().map(|at| entry(*at)).collect(),
            earned: best.evaluation.earned.map(entry),
            hypothesis: best.hypothesis,
            findings,
        }
    }

    /// The findings of these kinds.
    pub fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = &Finding<'h>> {
        self.findings.iter().filter(move |finding| kinds.contains(&finding.kind))
    }

    /// Two successful responses of one window, if no window shows that Remaining ever falls.
    #[must_use]
    pub fn never_falls(&self) -> Option<[&'h Entry<'h>; 2]> {
        self.never_falls
    }

    /// How many successful responses report a window that an earlier one reported as well.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// The findings which show that a Reset has restored nothing, where the count is explained otherwise: at least two, or one of so large a
    /// count that other clients are unlikely to have used exactly that number since.
    #[must_use]
    pub fn not_restored(&self) -> &[Finding<'h>] {
        let is_one = |finding: &Finding<'h>| finding.kind == Kind::NotRestored;
        let findings = self.findings.iter().map(|finding| (finding.kind, finding.found - finding.bound));
        let is_certain = self.findings.iter().all(is_one) && explain::shows_no_restoration(findings);
        if is_certain { &self.findings } else { &[] }
    }

    /// Whether a finding is about the limit of the day.
    #[must_use]
    pub fn is_of_day(&self, finding: &Finding<'_>) -> bool {
        let limit = finding.window(0).and_then(|window| i64::try_from(window.limit).ok());
        let figures = self.hypothesis.map(|best| best.figures);
        figures.is_some_and(|figures| figures.minute != figures.day && limit == figures.day)
    }

    /// Whether each Reset is a minute after the newest request, and nothing shows that the requests are those of a log: a window whose end
    /// is always a minute from now looks the same until it ends.
    #[must_use]
    pub fn may_be_draining(&self) -> bool {
        let is_drain = self.hypothesis.is_some_and(|best| best.cut == Cut::Drain);
        is_drain && !self.outlasts_a_window && self.of_kinds(&[Kind::ResetOff, Kind::ResetMoves]).next().is_none()
    }

    /// Whether some window that was announced to be over has restored nothing.
    #[must_use]
    pub fn goes_on_after_a_reset(&self) -> bool {
        self.of_kinds(&[Kind::NotRestored]).next().is_some()
    }

    /// Whether other clients use the key.
    #[must_use]
    pub fn others(&self) -> bool {
        self.hypothesis.is_some_and(|best| best.others)
    }
}

/// The copies that report more remaining than a response before them.
fn copies<'h>(parts: &[(&'h Entry<'h>, Part)]) -> Vec<Finding<'h>> {
    let window = |entry: &Entry<'_>| entry.rate.as_ref().and_then(RateHeaders::window);
    let mut found = Vec::new();
    for (at, (copy, _)) in parts.iter().enumerate().filter(|(_, (_, part))| part.is_copy) {
        let Some(report) = window(copy) else { continue };
        let mut earlier = parts[..at].iter().rev().filter(|(entry, part)| part.is_report && entry.precedes(copy));
        let is_lower = |of: Window| of.limit == report.limit && of.remaining < report.remaining;
        let Some((shown, _)) = earlier.find(|(entry, _)| window(entry).is_some_and(is_lower)) else { continue };
        let remaining = |window: Option<Window>| window.map_or(0, |window| window.remaining as i64);
        found.push(Finding {
            kind: Kind::Rises,
            entries: vec![copy, shown],
            found: report.limit as i64 - remaining(Some(report)),
            bound: report.limit as i64 - remaining(window(shown)),
        });
    }
    found
}

#[cfg(test)]
mod tests;
