//! Explanations: the way of counting that explains the responses to a key.
//!
//! A [`Hypothesis`] is one complete way of counting. A server is lawful if one hypothesis explains the whole trace of a key. The
//! hypothesis with the fewest contradictions speaks for the server, and its contradictions are held against the server. No code here
//! excuses a response: a lawful policy that is missing is added to the hypotheses.
//!
#![doc = include_str!("worked_trace.md")]

mod anonymous;
mod common;
mod evidence;
mod explain;
mod filters;
mod hypothesis;
mod keys;
mod pacing;
mod plan;
mod share;
mod shared;
mod timeline;

pub use anonymous::Anonymous;
pub use explain::Kind;
pub use filters::Costly;
pub use hypothesis::{Cut, Failed, Failures, Figures, Hypothesis, Others, Written};
pub use keys::{Answer, KeyLimits, Limiter, one_after_another};
pub use shared::SpentByAnother;

/// A trace of eight responses with two ways of counting, from which the judgement of a ninth follows. In Markdown.
pub const WORKED_TRACE: &str = include_str!("worked_trace.md");

use crate::catalogue::plan::PlanLimits;
use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;
use common::CommonFacts;
use hypothesis::Span;
pub(crate) use timeline::Part;
use timeline::Timeline;

/// A response that contradicts the best explanation of a key.
#[derive(Clone, Debug)]
pub struct Finding<'h> {
    /// The kind of the contradiction.
    pub kind: Kind,
    /// The exchange that shows the contradiction, and the exchange that it is compared with, if any.
    pub entries: Vec<&'h Entry<'h>>,
    /// The value that the exchange shows: a number of requests, a Unix time, or a number of seconds.
    pub found: i64,
    /// The least or the most that the hypothesis allows, in the unit of `found`.
    pub bound: i64,
    /// Whether the exchange reports the day.
    pub is_of_day: bool,
}

impl Finding<'_> {
    /// The window that the exchange at this index of `entries` reports.
    pub fn window(&self, place: usize) -> Option<Window> {
        self.entries.get(place)?.window()
    }

    /// Returns true if a Reset moved only after the Reset before it had passed, although its window, for example a day, cannot have
    /// ended.
    pub fn is_new_end(&self) -> bool {
        let Some(earlier) = self.window(1).filter(|_| self.kind == Kind::ResetMoves) else { return false };
        self.entries[0].answered_at().as_second() >= earlier.reset - Tolerance::CLOCK_SLACK.seconds()
    }
}

/// The best explanation of the responses to a key.
#[derive(Debug)]
pub struct Explanation<'h> {
    /// The way of counting with the fewest contradictions.
    pub hypothesis: Hypothesis,
    /// The responses that contradict the hypothesis, in the order of sending.
    pub findings: Vec<Finding<'h>>,
    /// The refusals that could be judged.
    pub refusals: Vec<&'h Entry<'h>>,
    /// The refusal that the requests of the run alone explain: the first one, if there was no room for it and nobody else uses the key. Any
    /// other refusal may belong to a ban.
    pub earned: Option<&'h Entry<'h>>,
    /// The number of successes that report the same window as the success before.
    pub compared: usize,
    /// Two successful responses of one window, the later one first, if no window shows that Remaining ever falls.
    pub never_falls: Option<[&'h Entry<'h>; 2]>,
    outlasts_a_window: bool,
    restores_nothing: bool,
}

impl<'h> Explanation<'h> {
    /// Explains the responses to a key, given the requests that bear on its count, the limits of its plan if they are known, and the
    /// facts that all keys have in common.
    ///
    /// A response that repeats an earlier one may be a copy from a cache. If fewer contradictions remain without the reports of the copies,
    /// they are ignored, and each copy is one contradiction instead.
    pub(crate) fn of(
        parts: &[(&'h Entry<'h>, Part)],
        plan: Option<PlanLimits>,
        common: CommonFacts,
    ) -> Explanation<'h> {
        let plan =
            plan.map(|limits| Figures { minute: Some(limits.per_minute as i64), day: Some(limits.per_day as i64) });
        let explanation = Explanation::with(&Timeline::new(parts, &[]), plan, common);
        let copies: Vec<Finding<'h>> = copies(parts);
        if copies.is_empty() || explanation.findings.len() <= copies.len() {
            return explanation;
        }
        let ignored: Vec<usize> = copies.iter().map(|copy| copy.entries[0].exchange.number).collect();
        let mut without_copies = Explanation::with(&Timeline::new(parts, &ignored), plan, common);
        without_copies.findings.extend(copies);
        without_copies.findings.sort_by_key(|finding| finding.entries[0].exchange.number);
        if without_copies.findings.len() < explanation.findings.len() { without_copies } else { explanation }
    }

    /// Explains a timeline, given the figures of the plan per minute and per day if they are known.
    fn with(timeline: &Timeline<'h>, plan: Option<Figures>, common: CommonFacts) -> Explanation<'h> {
        let best = explain::explain(timeline, plan, common);
        let entry = |at: usize| timeline.events[at].entry;
        let mut findings: Vec<Finding<'h>> = Vec::new();
        for contradiction in &best.contradictions {
            let with = contradiction.with.filter(|with| *with != contradiction.at);
            findings.push(Finding {
                kind: contradiction.kind,
                entries: std::iter::once(contradiction.at).chain(with).map(entry).collect(),
                found: contradiction.found,
                bound: contradiction.bound,
                is_of_day: timeline.events[contradiction.at].span(best.hypothesis.figures) == Some(Span::Day),
            });
        }
        let pairs = timeline.successive();
        Explanation {
            compared: pairs.len(),
            outlasts_a_window: timeline.outlasts_a_window(),
            restores_nothing: best.restores_nothing(),
            never_falls: pairs
                .last()
                .filter(|_| pairs.iter().all(|pair| timeline.is_flat(*pair)))
                .map(|[before, after]| [entry(*after), entry(*before)]),
            refusals: best.refusals.iter().map(|at| entry(*at)).collect(),
            earned: best.earned.map(entry),
            hypothesis: best.hypothesis,
            findings,
        }
    }

    /// Returns true if the requests of the run explain every response without other clients.
    pub(crate) fn is_complete(&self) -> bool {
        self.findings.is_empty() && self.hypothesis.others == Others::Nobody
    }

    /// The findings of these kinds.
    pub fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = &Finding<'h>> {
        self.findings.iter().filter(move |finding| kinds.contains(&finding.kind))
    }

    /// The findings, if all of them show that a Reset has restored nothing and chance does not explain them: there are at least two, or one
    /// with so large a count that other clients are unlikely to have used exactly that number since.
    pub fn not_restored(&self) -> &[Finding<'h>] {
        let is_all = self.findings.iter().all(|finding| finding.kind == Kind::NotRestored);
        if is_all && self.restores_nothing { &self.findings } else { &[] }
    }

    /// Returns true if each Reset is a minute after the newest request, and nothing shows whether the count is a log. A window whose end is
    /// always a minute from now looks like a log until it ends.
    pub fn may_be_draining(&self) -> bool {
        let is_drain = self.hypothesis.cut == Cut::Drain;
        is_drain && !self.outlasts_a_window && self.of_kinds(&[Kind::ResetOff, Kind::ResetMoves]).next().is_none()
    }
}

/// The findings about copies that report more remaining than a response that was complete before their request was sent.
fn copies<'h>(parts: &[(&'h Entry<'h>, Part)]) -> Vec<Finding<'h>> {
    let mut findings = Vec::new();
    for (at, (copy, _)) in parts.iter().enumerate().filter(|(_, (_, part))| part.is_copy) {
        let Some(copied) = copy.window() else { continue };
        for (shown, _) in parts[..at].iter().rev().filter(|(entry, part)| part.is_report && entry.precedes(copy)) {
            let Some(window) = shown.window() else { continue };
            if window.limit == copied.limit && window.remaining < copied.remaining {
                let [found, bound] = [copied, window].map(|window| window.limit as i64 - window.remaining as i64);
                let entries = vec![*copy, *shown];
                findings.push(Finding { kind: Kind::Rises, entries, found, bound, is_of_day: false });
                break;
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
