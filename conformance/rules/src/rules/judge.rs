//! Judges what is known: each rule sees only those exchanges of which everything that it needs is known.

use std::collections::{BTreeMap, BTreeSet};

use super::{Applies, Judgement, Memory, Rule};
use crate::catalogue::Party;
use crate::facts::Facts;
use crate::history::History;
use crate::trace::exchange::Exchange;
use crate::trace::knowledge::{Answerer, Extent, Fact, FactSet};
use crate::trace::{Context, Trace};

/// Judges by these rules a trace before which nothing was recorded.
#[must_use]
pub fn judge(rules: &[Rule], facts: &Facts<'_>) -> BTreeMap<&'static str, Judgement> {
    judge_after(rules, facts, &mut Memory::default())
}

/// Judges by these rules a part of a recording, given what its clients remember of earlier parts; they remember this one as well then.
///
/// Keys may have scopes, of which the specification says nothing: what one key sees is not compared with what another one sees, unless
/// the judge chose both.
#[must_use]
pub fn judge_after(rules: &[Rule], facts: &Facts<'_>, memory: &mut Memory) -> BTreeMap<&'static str, Judgement> {
    let (servers, clients): (Vec<Rule>, Vec<Rule>) = rules.iter().partition(|rule| rule.party == Party::Server);
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

/// What the server did not answer says nothing of it, and what it answered besides is a sample.
fn judge_servers(rules: &[Rule], facts: &Facts<'_>) -> BTreeMap<&'static str, Judgement> {
    let history = facts.history;
    let exchanges = history.entries.iter().map(|entry| entry.exchange);
    let served: Vec<&Exchange> = exchanges.filter(|exchange| exchange.known.answerer == Answerer::Service).collect();
    // The judge repeats what the service did not answer. Such a request may have been counted all the same.
    if history.is_run() || served.len() == history.entries.len() {
        return judge_by_key(rules, facts);
    }
    let part = Part::of(history.context, Extent::Sample, served);
    let history = History::new(&part.trace);
    let judgements = judge_by_key(rules, &Facts::new(&history));
    judgements.into_iter().map(|(id, judgement)| (id, part.numbered(judgement))).collect()
}

/// Judges by these rules what was sent with each key, unless the judge chose the keys.
fn judge_by_key(rules: &[Rule], facts: &Facts<'_>) -> BTreeMap<&'static str, Judgement> {
    let history = facts.history;
    let mut by_key: BTreeMap<Option<usize>, Vec<&Exchange>> = BTreeMap::new();
    history.entries.iter().for_each(|entry| by_key.entry(entry.key()).or_default().push(entry.exchange));
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
        let part = Part::of(&context, context.extent, sent);
        let history = History::new(&part.trace);
        for (id, judgement) in judge_part(rules, &Facts::new(&history)) {
            merge(judgements.entry(id).or_default(), part.numbered(judgement));
        }
    }
    judgements
}

/// Judges by these rules, by each what it may see.
fn judge_part(rules: &[Rule], facts: &Facts<'_>) -> BTreeMap<&'static str, Judgement> {
    let history = facts.history;
    let withheld = history.entries.iter().map(|entry| entry.exchange.known.withheld);
    let withheld = withheld.fold(FactSet::NONE, FactSet::union);
    let lacking = |rule: &Rule| rule.needed_facts(history.context.extent).intersection(withheld);
    let mut judgements = BTreeMap::new();
    for missing in rules.iter().map(lacking).collect::<BTreeSet<FactSet>>() {
        let rules = rules.iter().filter(|rule| lacking(rule) == missing);
        if missing.is_empty() {
            judgements.extend(rules.map(|rule| (rule.id, judge_known(rule, facts))));
            continue;
        }
        let exchanges = history.entries.iter().map(|entry| entry.exchange);
        let known = exchanges.filter(|exchange| exchange.known.withheld.intersection(missing).is_empty());
        // What is missing may have been anything, so what is left is a sample.
        let part = Part::of(history.context, Extent::Sample, known);
        let seen = History::new(&part.trace);
        let facts = Facts::new(&seen);
        for rule in rules {
            let mut judgement = part.numbered(judge_known(rule, &facts));
            judgement.withheld = Some(describe(history, missing));
            judgements.insert(rule.id, judgement);
        }
    }
    judgements
}

/// Judges by a rule that needs no fact that is withheld.
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
    Judgement { withheld: Some(withheld.to_owned()), ..rule.judge_sample(facts) }
}

/// What is withheld, and how often.
fn describe(history: &History<'_>, missing: FactSet) -> String {
    let count =
        |fact: Fact| history.entries.iter().filter(|entry| entry.exchange.known.withheld.contains(fact)).count();
    let all = history.entries.len();
    let facts: Vec<String> =
        missing.iter().map(|fact| format!("{} of {} of {all} exchanges", fact.as_str(), count(fact))).collect();
    format!("the recording withholds {}", facts.join(" and "))
}

fn merge(judgement: &mut Judgement, other: Judgement) {
    judgement.judged += other.judged;
    judgement.failures.extend(other.failures);
    judgement.exchanges.extend(other.exchanges);
    judgement.withheld = judgement.withheld.take().or(other.withheld);
    judgement.unseen = judgement.unseen.take().or(other.unseen).filter(|_| judgement.judged == 0);
}

/// Some exchanges of a trace, numbered anew.
struct Part {
    trace: Trace,
    /// The number in the trace of each.
    numbers: Vec<usize>,
}

impl Part {
    fn of<'e>(context: &Context, extent: Extent, picked: impl IntoIterator<Item = &'e Exchange>) -> Part {
        let (mut exchanges, mut numbers) = (Vec::new(), Vec::new());
        for exchange in picked {
            numbers.push(exchange.number);
            exchanges.push(Exchange { number: numbers.len(), ..exchange.clone() });
        }
        Part { trace: Trace { context: Context { extent, ..context.clone() }, exchanges }, numbers }
    }

    /// The judgement with the numbers that the exchanges have in the whole trace.
    fn numbered(&self, mut judgement: Judgement) -> Judgement {
        let numbers = judgement.failures.iter_mut().flat_map(|failure| &mut failure.exchanges);
        numbers.for_each(|number| *number = self.numbers[*number - 1]);
        judgement.exchanges = judgement.exchanges.iter().map(|number| self.numbers[number - 1]).collect();
        judgement
    }
}
