//! The verdicts on the parts of a recording, added up, in bounded memory.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome};
use animal_store_rules::verdict::{RequirementVerdict, Status};

use crate::report::TrafficCounts;

/// The maximum size of the exchanges that are kept, in bytes. A larger recording keeps only the exchanges that show a failure.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// The maximum number of failures of a requirement that are kept; all are counted.
const MAX_FAILURES: usize = 200;

/// The maximum number of kinds of failures of a requirement that are kept.
const MAX_KINDS: usize = 50;

/// The verdicts, exchanges and counts of the parts that were judged so far.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) verdicts: Vec<RequirementVerdict>,
    /// The number of failures of each requirement that were counted and not kept.
    pub(super) dropped: BTreeMap<String, usize>,
    /// The exchanges that are kept.
    pub(super) kept: Vec<Exchange>,
    kept_bytes: usize,
    /// Whether exchanges that show no failure were dropped.
    pub(super) is_thinned: bool,
    pub(super) counts: TrafficCounts,
}

impl Totals {
    /// Adds the verdicts on another part.
    pub(super) fn add(&mut self, trace: Trace, mut verdicts: Vec<RequirementVerdict>) {
        let offset = self.counts.requests;
        for verdict in &mut verdicts {
            let examples = verdict.findings.iter_mut().map(|finding| &mut finding.example);
            let failures = verdict.failures.iter_mut().chain(examples);
            failures.flat_map(|failure| &mut failure.exchanges).for_each(|number| *number += offset);
            verdict.exchanges = verdict.exchanges.iter().map(|number| number + offset).collect();
        }
        if self.verdicts.is_empty() {
            self.verdicts = verdicts;
        } else {
            self.verdicts.iter_mut().zip(verdicts).for_each(|(verdict, other)| merge(verdict, other));
        }
        for verdict in &mut self.verdicts {
            let more = verdict.failures.len().saturating_sub(MAX_FAILURES);
            verdict.failures.truncate(MAX_FAILURES);
            if more > 0 {
                *self.dropped.entry(verdict.requirement.id.clone()).or_default() += more;
            }
        }
        let Trace { context, exchanges } = trace;
        for mut exchange in exchanges {
            exchange.number += offset;
            self.counts.add(&exchange, &context);
            self.kept_bytes += size(&exchange);
            self.kept.push(exchange);
        }
        if self.is_thinned || self.kept_bytes > MAX_KEPT {
            self.thin();
        }
    }

    /// Keeps no more than the exchanges that show a failure.
    fn thin(&mut self) {
        self.is_thinned = true;
        let mut shown: BTreeSet<usize> = BTreeSet::new();
        for verdict in &self.verdicts {
            shown.extend(verdict.failures.iter().take(3).flat_map(|failure| &failure.exchanges));
            shown.extend(verdict.findings.iter().flat_map(|finding| &finding.example.exchanges));
        }
        self.kept.retain(|exchange| shown.contains(&exchange.number));
        self.verdicts.iter_mut().for_each(|verdict| verdict.exchanges.retain(|number| shown.contains(number)));
        self.kept_bytes = self.kept.iter().map(size).sum();
    }
}

fn merge(verdict: &mut RequirementVerdict, other: RequirementVerdict) {
    verdict.judged += other.judged;
    verdict.failures.extend(other.failures);
    verdict.exchanges.extend(other.exchanges);
    for finding in other.findings {
        let has_room = verdict.findings.len() < MAX_KINDS;
        match verdict.findings.iter_mut().find(|known| known.example.found.is_alike(&finding.example.found)) {
            Some(known) => known.count += finding.count,
            None if has_room => verdict.findings.push(finding),
            None => {}
        }
    }
    verdict.status = match (verdict.status, other.status) {
        (Status::Fail, _) | (_, Status::Fail) => Status::Fail,
        (Status::Pass, _) | (_, Status::Pass) => Status::Pass,
        (status, _) => status,
    };
    verdict.reason = verdict.reason.take().or(other.reason).filter(|_| verdict.status == Status::NotExercised);
    let choices = [verdict.observed.take(), other.observed];
    let items: BTreeSet<&str> = choices.iter().flatten().flat_map(|choice| choice.split("; ")).collect();
    verdict.observed = (!items.is_empty()).then(|| items.into_iter().collect::<Vec<_>>().join("; "));
}

/// The approximate amount of memory that an exchange takes, in bytes.
pub(super) fn size(exchange: &Exchange) -> usize {
    const BESIDE_TEXTS: usize = 512;
    let fields =
        |fields: &[(String, String)]| fields.iter().map(|(name, value)| name.len() + value.len() + 48).sum::<usize>();
    let body = exchange.request.body.as_ref().map_or(0, |body| body.bytes.len());
    let request = body + exchange.request.target().len() + fields(&exchange.request.headers);
    let response = match &exchange.outcome {
        Outcome::Response(response) => response.body.len() + fields(&response.headers),
        Outcome::Failed(failure) => failure.detail.len(),
    };
    BESIDE_TEXTS + request + response
}
