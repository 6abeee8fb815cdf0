//! The addresses of a service with several, each as a row of a table, in the wording that every format uses.

use super::presentation::Presentation;
use super::traffic::TrafficCounts;
use super::{Replica, Report};
use crate::layout::counted;
use animal_store_rules::fleet::{Counter, Fleet, Reads};
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::verdict::RequirementVerdict;
use animal_store_rules::verdict::attribution::Attribution;
use animal_store_rules::verdict::findings::Finding;

impl Replica {
    /// The number of requirements that the address breaks, with the requirements that no other address breaks.
    pub fn findings_shown(&self) -> String {
        let count = match self.findings.len() {
            0 => "no findings".to_owned(),
            count => counted(count, "finding"),
        };
        if self.only_here.is_empty() { count } else { format!("{count}, only here: {}", self.only_here.join(", ")) }
    }

    /// The time after which the address showed animals that were created at others.
    pub fn lag_shown(&self) -> String {
        let Reads { shown, never_shown, missing_ms, shown_ms, .. } = self.reads;
        let seconds = |time: u64| format!("{}.{:03} s", time / 1_000, time % 1_000);
        let shown = shown_ms.filter(|_| shown > 0).map(|time| format!("first shown after {}", seconds(time)));
        let missing = missing_ms.map(|time| format!("missing after {}", seconds(time)));
        let never = (never_shown > 0).then(|| format!("{never_shown} never shown"));
        let parts: Vec<String> = [shown, missing, never].into_iter().flatten().collect();
        if parts.is_empty() { "not observed".to_owned() } else { parts.join(", ") }
    }

    /// The addresses that count the requests of a key together with this one.
    pub fn counter_shown(&self, report: &Report) -> String {
        match self.counts_with.as_deref() {
            None => "not observed".to_owned(),
            Some([]) => "its own".to_owned(),
            Some(others) if others.len() + 1 == report.replicas.len() => "shared by all".to_owned(),
            Some(others) => format!("shared with {}", others.join(", ")),
        }
    }
}

/// A row for each address of the service, if there are several.
pub(super) fn replicas(
    presentation: &Presentation<'_>,
    fleet: Option<&Fleet>,
    verdicts: &[RequirementVerdict],
) -> Vec<Replica> {
    let Some(fleet) = fleet else { return Vec::new() };
    let trace = presentation.trace;
    let addresses: Vec<String> = trace.context.addresses().map(|address| presentation.own(address)).collect();
    let mut rows = Vec::new();
    for (at, address) in trace.context.addresses().enumerate() {
        let all = trace.exchanges.iter();
        let sent: Vec<&Exchange> = all.filter(|e| e.request.replica.unwrap_or_default() == at).collect();
        let counts = TrafficCounts::of(sent.iter().copied(), &trace.context);
        let is_sent_here = |number: &usize| sent.binary_search_by_key(number, |exchange| exchange.number).is_ok();
        let is_here_alone = |finding: &Finding| matches!(&finding.attribution, Some(Attribution::Only { replicas, .. }) if *replicas == [address]);
        let (mut findings, mut only_here) = (Vec::new(), Vec::new());
        for verdict in verdicts.iter().filter(|verdict| verdict.selected) {
            let mut decisive = verdict.failures.iter().filter_map(|failure| failure.exchanges.first());
            if !decisive.any(is_sent_here) {
                continue;
            }
            findings.push(verdict.requirement.id.clone());
            if !verdict.findings.is_empty() && verdict.findings.iter().all(is_here_alone) {
                only_here.push(verdict.requirement.id.clone());
            }
        }
        rows.push(Replica {
            base_url: addresses[at].clone(),
            requests: counts.requests,
            requests_with_key: counts.with_key,
            created: counts.created,
            findings,
            only_here,
            reads: fleet.reads[at],
            counts_with: match &fleet.counters[at] {
                Counter::Unknown => None,
                Counter::With(others) => Some(others.iter().map(|other| addresses[*other].clone()).collect()),
            },
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_replica_showed_what_was_created_elsewhere_is_in_words() {
        let lag = |shown, never_shown, missing_ms, shown_ms| {
            let reads = Reads { shown, never_shown, answers: 0, missing_ms, shown_ms };
            let replica = Replica {
                base_url: "http://h/v1".to_owned(),
                requests: 1,
                requests_with_key: 1,
                created: 0,
                findings: Vec::new(),
                only_here: Vec::new(),
                reads,
                counts_with: None,
            };
            replica.lag_shown()
        };
        assert_eq!(lag(0, 0, None, None), "not observed");
        assert_eq!(lag(3, 0, None, Some(12)), "first shown after 0.012 s");
        assert_eq!(lag(3, 0, Some(1_600), Some(3_210)), "first shown after 3.210 s, missing after 1.600 s");
        assert_eq!(lag(3, 2, Some(6_000), Some(12)), "first shown after 0.012 s, missing after 6.000 s, 2 never shown");
        assert_eq!(lag(0, 2, Some(6_000), None), "missing after 6.000 s, 2 never shown");
    }
}
