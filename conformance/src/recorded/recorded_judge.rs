//! The verdicts on the parts of recorded traffic, added up, and the report on all of them.

use animal_store_diagnose::Conclusion;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Scope, Side};
use animal_store_rules::rules::Memory;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::{Context, Trace};
use animal_store_rules::verdict::{self, RequirementVerdict};
use animal_store_traffic::sample::{self, Pseudonyms};
use jiff::tz::TimeZone;

use super::UnusableRecording;
use super::terms::Terms;
use super::totals::Totals;
use crate::options::Judging;
use crate::redaction::Redactor;
use crate::report::{self, Presentation, Remarks, Report};

/// Judges traffic part by part, in bounded memory, and adds the verdicts up to one report.
///
/// [`RecordedJudge::sample`] makes a trace of the exchanges of a part, [`RecordedJudge::add`] judges it, and [`RecordedJudge::report`] reports on all
/// parts. [`PendingPart`](super::PendingPart) measures the size of a part.
pub struct RecordedJudge {
    pub(super) terms: Terms,
    /// The side that is judged, fixed with the first part: verdicts on different sides cannot be added up.
    pub(super) side: Option<Side>,
    totals: Totals,
    pub(super) notes: Vec<String>,
    base_url: Option<String>,
    /// The knowledge that the clients have from the parts so far.
    memory: Memory,
    /// The pseudonyms of all parts: a server may repeat a key in a later one.
    pub(super) pseudonyms: Pseudonyms,
}

impl RecordedJudge {
    /// Begins to judge traffic on these terms.
    pub fn new(terms: Terms) -> RecordedJudge {
        let side = terms.side;
        // Pseudonyms differ from those of other recordings.
        let mut rng = fastrand::Rng::new();
        let pseudonyms = Pseudonyms::new((0..sample::SALT).map(|_| rng.lowercase()).collect::<String>());
        RecordedJudge {
            terms,
            side,
            totals: Totals::default(),
            notes: Vec::new(),
            base_url: None,
            memory: Memory::default(),
            pseudonyms,
        }
    }

    /// The selected requirements, and the side that is judged.
    pub fn scope(&self) -> Scope {
        let scope = self.terms.scope.clone().unwrap_or_default();
        Scope { side: self.side.unwrap_or_default(), ..scope }
    }

    /// The context of traffic to this address, when nothing but its extent is known.
    pub fn context(&self, base_url: &str, extent: Extent) -> Context {
        let plan_limits = self.terms.plan.as_ref().and_then(Plan::plan_limits);
        Context { plan_limits, ..Context::new(extent, base_url) }
    }

    /// Adds a note to the report.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Takes the base URL of a recording, without a trailing slash.
    ///
    /// # Errors
    ///
    /// [`UnusableRecording::Services`], if an earlier recording has another base URL: the responses of one service say nothing about
    /// another one.
    pub fn recorded_at(&mut self, base_url: &str) -> Result<(), UnusableRecording> {
        let known = self.base_url.get_or_insert_with(|| base_url.to_owned());
        if known == base_url { Ok(()) } else { Err(UnusableRecording::Services(known.clone(), base_url.to_owned())) }
    }

    /// The redactor for every secret that a part has shown so far.
    pub fn redactor(&self) -> &Redactor {
        self.pseudonyms.redactor()
    }

    /// Makes the trace of a part: its keys become pseudonyms, and exchanges that an intermediary answered are marked.
    pub fn sample(&mut self, context: Context, mut exchanges: Vec<Exchange>) -> Trace {
        answerer::mark(&mut exchanges);
        sample::trace(context, exchanges, &mut self.pseudonyms)
    }

    /// Exchanges for a recording that is written while there is traffic: their keys become pseudonyms.
    pub fn without_secrets(&mut self, exchanges: Vec<Exchange>) -> Vec<Exchange> {
        sample::without_secrets(exchanges, self.base_url.as_deref().unwrap_or_default(), &mut self.pseudonyms)
    }

    /// Judges a part, and returns the verdicts on this part alone.
    pub fn add(&mut self, trace: Trace) -> Vec<RequirementVerdict> {
        let scope = self.scope();
        let verdicts = verdict::judge_after(&trace, &scope, &mut self.memory);
        self.totals.add(trace, verdicts.clone());
        verdicts
    }

    /// The verdicts on the beginning of a part that is not complete yet. They are not added to the totals.
    pub fn preview(&self, trace: &Trace) -> Vec<RequirementVerdict> {
        verdict::judge_after(trace, &self.scope(), &mut self.memory.clone())
    }

    /// The number of exchanges that were judged.
    pub fn exchanges(&self) -> usize {
        self.totals.counts.requests
    }

    /// The report on all parts. Its rerun command is the given one.
    #[must_use]
    pub fn report(mut self, rerun_command: String) -> Report {
        let base_url = self.base_url.clone().unwrap_or_default();
        if self.exchanges() == 0 {
            let _nothing = self.add(Trace { context: self.context(&base_url, Extent::Sample), exchanges: Vec::new() });
        }
        if self.totals.is_thinned {
            self.notes
                .push("the recording is long: the report contains only the exchanges that show a failure".to_owned());
        }
        self.notes.push("the recording may lack requests; what it cannot show is reported as not exercised".to_owned());
        let side = self.side.unwrap_or_default();
        self.notes.push(match side {
            Side::Server => "judged: the server; use --side client to judge its clients".to_owned(),
            Side::Client => "judged: the clients; use --side server to judge the server".to_owned(),
            Side::Both => "judged: the server and its clients".to_owned(),
        });
        // A client's tests have no other judge, and what they can break is mostly inferred.
        let (scope, strict) = (Scope { side, ..Scope::default() }, side == Side::Client);
        let judging = self.terms.over(Judging { scope, strict, ..Judging::default() });
        let context = self.context(&base_url, Extent::Sample);
        let Totals { mut verdicts, kept, dropped, counts, .. } = self.totals;
        if let Some(first) = counts.first {
            judging.known_failing.apply(&mut verdicts, first.to_zoned(TimeZone::UTC).date());
        }
        let trace = Trace { context, exchanges: kept };
        let conclusion = Conclusion { verdicts, causes: Vec::new(), fleet: None };
        let remarks = Remarks { notes: self.notes, rerun_command, ..Remarks::default() };
        let presentation = Presentation::of_traffic(&trace, self.pseudonyms.redactor().clone());
        let mut report = report::assemble(&presentation, &conclusion, &judging, remarks, counts);
        for requirement in &mut report.requirements {
            requirement.failures += dropped.get(&requirement.id).copied().unwrap_or_default();
        }
        report
    }
}
