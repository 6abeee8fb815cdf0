//! Judging of traces that withhold facts: each rule sees only the exchanges that show every fact it needs.

use std::collections::{BTreeMap, BTreeSet};

use super::needs::Needs;
use super::{Applies, Judgement, Memory, Rule};
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::trace::exchange::Exchange;
use crate::trace::knowledge::{Answerer, Extent, FactSet, Knowledge};
use crate::trace::{Context, Trace};

/// The judgements by the identifiers of their rules.
type Judgements = BTreeMap<&'static str, Judgement>;

/// Judges a trace that has no earlier part by these rules.
pub fn judge(rules: &[Rule], facts: &Facts<'_>) -> Judgements {
    judge_after(rules, facts, &mut Memory::default())
}

/// Judges a part of a recording by these rules. `memory` has the knowledge of clients from earlier parts, and gains that of this
/// part.
///
/// Keys may have scopes, about which the specification says nothing: animals shown to one key are not compared with those shown to
/// another one, unless the judge chose both keys.
pub fn judge_after(rules: &[Rule], facts: &Facts<'_>, memory: &mut Memory) -> Judgements {
    let (clients, servers): (Vec<Rule>, Vec<Rule>) =
        rules.iter().partition(|rule| matches!(rule.applies, Applies::Clients(_)));
    let mut judgements = if servers.is_empty() { BTreeMap::new() } else { judge_servers(&servers, facts) };
    if !clients.is_empty() {
        let seen = memory.clients(facts.history);
        for rule in clients {
            let judgement = judgements.entry(rule.id).or_default();
            if let Applies::Clients(judge) = rule.applies {
                judge(&seen, memory, judgement);
            }
        }
    }
    judgements
}

/// Judges the exchanges that the service answered. If other exchanges are left out, the rest of the trace is a sample.
fn judge_servers(rules: &[Rule], facts: &Facts<'_>) -> Judgements {
    let history = facts.history;
    let entries = history.entries.iter();
    let served: Vec<&Entry<'_>> = entries.filter(|entry| entry.exchange.known.answerer == Answerer::Service).collect();
    // The judge repeats requests that the service did not answer. They may have been counted all the same.
    if history.is_run() || served.len() == history.entries.len() {
        return judge_by_key(rules, facts);
    }
    Part::of(history.context, Extent::Sample, served).judge(|facts| judge_by_key(rules, facts))
}

/// Judges the exchanges of each key separately, unless the trace has all requests of its keys.
fn judge_by_key(rules: &[Rule], facts: &Facts<'_>) -> Judgements {
    let history = facts.history;
    let mut by_key: BTreeMap<Option<usize>, Vec<&Entry<'_>>> = BTreeMap::new();
    history.entries.iter().for_each(|entry| by_key.entry(entry.key()).or_default().push(entry));
    if !history.is_sample() || by_key.len() < 2 {
        return judge_part(rules, facts);
    }
    let mut judgements = BTreeMap::new();
    let mut context = history.context.clone();
    for (key, sent) in by_key {
        // Other keys than the first may be on other plans.
        context.plan_limits = history.context.plan_limits.filter(|_| key.is_none_or(|key| key == 0));
        context.keys = match key.and_then(|key| history.context.keys.get(key)) {
            Some(key) => vec![key.clone()].into(),
            None => history.context.keys.clone(),
        };
        for (id, judgement) in Part::of(&context, context.extent, sent).judge(|facts| judge_part(rules, facts)) {
            merge(judgements.entry(id).or_default(), judgement);
        }
    }
    judgements
}

/// Judges by each rule the exchanges that withhold no fact it needs.
fn judge_part(rules: &[Rule], facts: &Facts<'_>) -> Judgements {
    let history = facts.history;
    let withheld = history.entries.iter().map(|entry| entry.exchange.known.withheld);
    let withheld = withheld.fold(FactSet::NONE, FactSet::union);
    let lacking = |rule: &Rule| {
        // A failure in a sample needs no exact times.
        let is_sample = rule.of_samples.is_some() && history.context.extent < rule.needs.extent;
        (if is_sample { Needs::OF_SAMPLES } else { rule.needs.facts }).intersection(withheld)
    };
    let mut judgements = BTreeMap::new();
    for missing in rules.iter().map(lacking).collect::<BTreeSet<FactSet>>() {
        let rules = rules.iter().filter(|rule| lacking(rule) == missing);
        if missing.is_empty() {
            judgements.extend(rules.map(|rule| (rule.id, judge_known(rule, facts))));
            continue;
        }
        let known =
            history.entries.iter().filter(|entry| entry.exchange.known.withheld.intersection(missing).is_empty());
        // A withheld fact may have been anything, so the other exchanges are a sample.
        let of_part = Part::of(history.context, Extent::Sample, known)
            .judge(|facts| rules.map(|rule| (rule.id, judge_known(rule, facts))).collect());
        for (id, judgement) in of_part {
            judgements.insert(id, Judgement { withheld: Some(describe(history, missing)), ..judgement });
        }
    }
    judgements
}

/// Judges by one rule a trace that withholds no fact the rule needs.
fn judge_known(rule: &Rule, facts: &Facts<'_>) -> Judgement {
    let extent = facts.history.context.extent;
    if extent >= rule.needs.extent {
        return rule.judge(facts);
    }
    let withheld = match rule.needs.extent {
        Extent::Run => {
            "this can only be judged from requests that the judge itself sent: it knows which names are new and which keys are valid"
        }
        Extent::Conversation => {
            "this needs a recording of everything that the client sent and received, with exact times"
        }
        _ => "this needs a recording of every request sent with the key, with exact times",
    };
    let mut judgement = Judgement { withheld: Some(withheld.to_owned()), ..Judgement::default() };
    if let Some(judge) = rule.of_samples {
        facts.limiter.keys().iter().for_each(|key| judge(facts, key, &mut judgement));
    }
    judgement
}

/// The withheld facts in words, each with the number of exchanges that withhold it.
fn describe(history: &History<'_>, missing: FactSet) -> String {
    let all = history.entries.len();
    let mut facts: Vec<String> = Vec::new();
    for fact in missing.iter() {
        let count = history.entries.iter().filter(|entry| entry.exchange.known.withheld.contains(fact)).count();
        facts.push(format!("{} of {count} of {all} exchanges", fact.as_str()));
    }
    let verb = if history.is_run() { "the judge could not read" } else { "the recording withholds" };
    format!("{verb} {}", facts.join(" and "))
}

fn merge(judgement: &mut Judgement, other: Judgement) {
    judgement.judged += other.judged;
    judgement.failures.extend(other.failures);
    judgement.exchanges.extend(other.exchanges);
    judgement.withheld = judgement.withheld.take().or(other.withheld);
    judgement.unseen = judgement.unseen.take().or(other.unseen).filter(|_| judgement.judged == 0);
}

/// A part of a trace, with its exchanges numbered anew.
struct Part {
    trace: Trace,
    /// The number of each exchange in the whole trace.
    numbers: Vec<usize>,
}

impl Part {
    fn of<'e, 't: 'e>(context: &Context, extent: Extent, picked: impl IntoIterator<Item = &'e Entry<'t>>) -> Part {
        let (mut exchanges, mut numbers) = (Vec::new(), Vec::new());
        for entry in picked {
            let exchange = entry.exchange;
            numbers.push(exchange.number);
            let known = Knowledge { has_foreign_date: entry.has_foreign_date(), ..exchange.known };
            exchanges.push(Exchange { number: numbers.len(), known, ..exchange.clone() });
        }
        Part { trace: Trace { context: Context { extent, ..context.clone() }, exchanges }, numbers }
    }

    /// Judges the part. The judgements have the numbers that the exchanges have in the whole trace.
    fn judge(&self, judge: impl FnOnce(&Facts<'_>) -> Judgements) -> Judgements {
        let history = History::new(&self.trace);
        let mut judgements = judge(&Facts::new(&history));
        for judgement in judgements.values_mut() {
            let numbers = judgement.failures.iter_mut().flat_map(|failure| &mut failure.exchanges);
            numbers.for_each(|number| *number = self.numbers[*number - 1]);
            judgement.exchanges = judgement.exchanges.iter().map(|number| self.numbers[number - 1]).collect();
        }
        judgements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Party;
    use crate::rules::rules_of;
    use crate::tests::TraceBuilder;

    #[test]
    fn the_date_of_a_gateway_is_known_where_only_other_keys_show_it() {
        let broken = |date: i64| {
            let keyed = [1, 20, 38].into_iter().fold(TraceBuilder::new().window(60), |builder, pause| {
                builder.wait(pause).list(200, 50, 60).dated(date)
            });
            let keyless = keyed.list(401, 60, 60).dated(date).change_last(|last| last.request.authorization = None);
            let mut trace = keyless.trace();
            trace.context.extent = Extent::Sample;
            let judgements = judge(&rules_of(Party::Server), &Facts::new(&History::new(&trace)));
            judgements["headers.reset-time"].failures.len()
        };
        assert_eq!([broken(0), broken(3_600)], [0, 0]);
    }
}
