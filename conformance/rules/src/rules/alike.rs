//! Requests that any server has to treat alike, and how many of them break a rule: all, all from some moment on, or some.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::{CreateBody, Operation, PetId, harmless};
use crate::rules::{self, Failure};
use crate::trace::Trace;
use crate::trace::exchange::{Exchange, Request};

/// At least this many similar requests have to be known before a failure of one of them is called intermittent.
const MIN_ALIKE: usize = 4;

/// The number of similar requests that show a failure.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Share {
    /// The requests that show it.
    pub broken: usize,
    /// All similar requests.
    pub alike: usize,
}

/// The requests that are similar to that of a failure.
pub(crate) struct Alike {
    pub(crate) share: Share,
    /// Whether a later similar request does not show the failure.
    pub(crate) held_later: bool,
}

impl Alike {
    /// Finds the requests that are similar to that of a failure. `broken` has the numbers of all exchanges that show a failure of
    /// the rule.
    pub(crate) fn to(history: &History<'_>, broken: &BTreeSet<usize>, failure: &Failure) -> Option<Alike> {
        let &[number] = failure.exchanges.as_slice() else { return None };
        let like = likeness(history, decisive(history, failure)?);
        let is_alike = |entry: &&Entry<'_>| entry.status() != Some(429) && likeness(history, entry) == like;
        let alike: Vec<usize> = history.entries.iter().filter(is_alike).map(|entry| entry.exchange.number).collect();
        let broken_ones = alike.iter().filter(|number| broken.contains(number)).count();
        let held_later = alike.iter().any(|&other| other > number && !broken.contains(&other));
        Some(Alike { share: Share { broken: broken_ones, alike: alike.len() }, held_later })
    }

    /// Returns true if a third or less of enough similar requests show the failure.
    pub(crate) fn is_rare(&self) -> bool {
        let Share { broken, alike } = self.share;
        alike >= MIN_ALIKE && 3 * broken <= alike && broken > 0
    }
}

/// The exchange that shows a failure.
pub fn decisive<'h>(history: &'h History<'_>, failure: &Failure) -> Option<&'h Entry<'h>> {
    history.entries.get(failure.exchanges.first()?.checked_sub(1)?)
}

/// The numbers of the exchanges that show a failure by themselves.
pub(crate) fn decisive_numbers(failures: &[Failure]) -> BTreeSet<usize> {
    failures.iter().filter(|failure| failure.exchanges.len() == 1).map(|failure| failure.exchanges[0]).collect()
}

/// The numbers of exchanges whose requests are to be repeated before the verdict.
#[derive(Debug, Default)]
pub struct Doubtful {
    /// The lists and fetches that broke a rule which nearly all similar requests kept, if no similar request was sent later. Sent again, they
    /// show whether the rule breaks now and then or from some moment on.
    pub undecided: BTreeSet<usize>,
    /// One failure of each kind that may show only with a harmless difference which all of its kind share.
    pub varied: BTreeSet<usize>,
}

/// Finds the exchanges whose requests are to be repeated before the verdict.
pub fn doubtful(trace: &Trace) -> Doubtful {
    let history = History::new(trace);
    let judgements = rules::judge(&rules::rules(), &Facts::new(&history));
    let mut doubtful = Doubtful::default();
    for judgement in judgements.values() {
        doubtful.undecided.extend(undecided_of(&history, &judgement.failures));
        doubtful.varied.extend(varied_of(&history, &judgement.failures));
    }
    doubtful
}

fn undecided_of(history: &History<'_>, failures: &[Failure]) -> Vec<usize> {
    let numbers = decisive_numbers(failures);
    // A rule that more than a third of all requests break does not break rarely.
    if 3 * numbers.len() > history.entries.len() {
        return Vec::new();
    }
    let mut reads: Vec<usize> = Vec::new();
    for failure in failures {
        let is_read = decisive(history, failure).is_some_and(|entry| entry.exchange.request.method == "GET");
        let Some(alike) = Alike::to(history, &numbers, failure).filter(|_| is_read) else { continue };
        if alike.is_rare() && !alike.held_later {
            reads.extend(failure.exchanges.first());
        }
    }
    reads
}

/// A text that is equal for requests which differ at most in harmless ways, in the connection, in the replica that they are sent to, and in
/// the names of their animals.
fn plain_text(exchange: &Exchange) -> String {
    let request = &exchange.request;
    let authorization = request.authorization.as_deref().unwrap_or_default();
    if request.method == "POST" && !exchange.step.is_empty() {
        return format!("{} {} {authorization}", request.path, exchange.step);
    }
    let Request { headers, body, .. } = harmless::plain(request);
    format!("{} {} {authorization} {headers:?} {body:?}", request.method, request.target())
}

/// The harmless differences that all failures of a kind share. `None` if a failure rests on several exchanges.
fn shared_differences(history: &History<'_>, failures: &[&Failure]) -> Option<Vec<String>> {
    let mut shared: Option<Vec<String>> = None;
    for failure in failures {
        let entry = decisive(history, failure).filter(|_| failure.exchanges.len() == 1)?;
        let own = harmless::differences(&entry.exchange.request);
        match &mut shared {
            Some(shared) => shared.retain(|known| own.contains(known)),
            None => shared = Some(own),
        }
    }
    shared.filter(|shared| !shared.is_empty())
}

/// The harmless differences without which a failure does not show: a request fails with them, then holds without them, and fails with them
/// again. `broken` has the numbers of all exchanges that show a failure of the rule.
pub(crate) fn only_with(history: &History<'_>, broken: &BTreeSet<usize>, failures: &[&Failure]) -> Vec<String> {
    if failures.len() < 2 {
        return Vec::new();
    }
    let Some(shared) = shared_differences(history, failures) else { return Vec::new() };
    let mut failing: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for exchange in failures.iter().filter_map(|failure| decisive(history, failure)).map(|entry| entry.exchange) {
        failing.entry(plain_text(exchange)).or_default().push(exchange.number);
    }
    let answered = history.entries.iter().filter(|entry| !matches!(entry.status(), None | Some(429)));
    for held in answered.map(|entry| entry.exchange).filter(|exchange| !broken.contains(&exchange.number)) {
        let Some(numbers) = failing.get(&plain_text(held)) else { continue };
        let is_between =
            numbers.iter().any(|number| *number < held.number) && numbers.iter().any(|number| *number > held.number);
        if !is_between {
            continue;
        }
        let own = harmless::differences(&held.request);
        let mut lacking: Vec<String> = shared.iter().filter(|known| !own.contains(known)).cloned().collect();
        // A value says more than the name of its field.
        let fields: Vec<String> =
            lacking.iter().filter_map(|known| Some(known.split_once(':')?.0.to_owned())).collect();
        lacking.retain(|known| !fields.contains(known));
        if !lacking.is_empty() {
            return lacking;
        }
    }
    Vec::new()
}

/// At least this many creations have to share a difference before one of them is repeated without it.
const MIN_CREATIONS: usize = 3;

fn varied_of(history: &History<'_>, failures: &[Failure]) -> BTreeSet<usize> {
    let (mut varied, broken) = (BTreeSet::new(), decisive_numbers(failures));
    for of_kind in by_kind(failures) {
        let entries = || of_kind.iter().filter_map(|failure| decisive(history, failure));
        let read = entries().find(|entry| entry.exchange.request.method == "GET");
        let example = read.or_else(|| entries().nth(MIN_CREATIONS - 1));
        if shared_differences(history, &of_kind).is_some() && only_with(history, &broken, &of_kind).is_empty() {
            varied.extend(example.map(|entry| entry.exchange.number));
        }
    }
    varied
}

/// The failures of a requirement by kind.
pub(crate) fn by_kind(failures: &[Failure]) -> Vec<Vec<&Failure>> {
    let mut kinds: Vec<Vec<&Failure>> = Vec::new();
    for failure in failures {
        match kinds.iter_mut().find(|of_kind| of_kind[0].found.is_alike(&failure.found)) {
            Some(of_kind) => of_kind.push(failure),
            None => kinds.push(vec![failure]),
        }
    }
    kinds
}

/// The properties of a request by which any server has to treat it like others that share them: its method, its target and its credential.
pub(crate) fn likeness(history: &History<'_>, entry: &Entry<'_>) -> String {
    let request = &entry.exchange.request;
    let target = match &entry.operation {
        Operation::Get(PetId::Int64(id)) => {
            format!("an animal, known: {}", history.known(*id, entry).is_some())
        }
        Operation::Create(CreateBody::Faulty(faults, _)) => format!("a creation with {faults:?}"),
        Operation::Create(CreateBody::NewPet(draft, ambiguities)) => {
            format!("a creation with the status {:?} and {ambiguities:?}", draft.status)
        }
        _ => request.target(),
    };
    format!("{} {target} {:?}", request.method, entry.credential)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Outcome;

    #[test]
    fn a_read_that_broke_last_of_many_alike_is_undecided_until_it_is_sent_again() {
        let lists = |statuses: &[u16]| {
            let builder = statuses.iter().fold(TraceBuilder::new(), |builder, status| builder.list(*status, 9, 60));
            doubtful(&builder.trace()).undecided.into_iter().collect::<Vec<usize>>()
        };
        assert_eq!(lists(&[200, 200, 200, 500]), [4]);
        assert_eq!(lists(&[200, 200, 500, 200]), [0; 0], "now and then");
        assert_eq!(lists(&[200, 200, 200, 500, 500]), [0; 0], "from then on");
        let created = (0..3).fold(TraceBuilder::new(), |builder, id| builder.create(id)).refused_create(500);
        assert!(doubtful(&created.trace()).undecided.is_empty(), "no read");
    }

    fn orders(builder: TraceBuilder, status: u16) -> TraceBuilder {
        builder.ask(Request::new("GET", "/store/orders"), status, "[]".to_owned()).with_rate_limit(9, 60)
    }

    #[test]
    fn what_is_not_like_it_says_nothing_of_a_read_that_broke() {
        let others = (0..4).fold(TraceBuilder::new(), |builder, _| orders(builder, 200)).list(500, 9, 60);
        assert!(doubtful(&others.trace()).undecided.is_empty());
        // A refusal over the limit is like no other answer.
        let refused = TraceBuilder::new().lists(60, &[(200, 9), (200, 8), (200, 7), (200, 6), (429, 5)]);
        let bare = refused.change_last(|sent| {
            if let Outcome::Response(response) = &mut sent.outcome {
                response.headers.retain(|(name, _)| !name.starts_with("x-ratelimit"));
            }
        });
        assert!(doubtful(&bare.trace()).undecided.is_empty());
        let created = (1..=4).fold(TraceBuilder::new(), |builder, id| builder.create(id));
        let fetched = (1..=3).fold(created, |builder, id| builder.get(id, Some("available")));
        let last = fetched.ask(Request::new("GET", "/pets/4"), 500, String::new());
        assert_eq!(doubtful(&last.trace()).undecided.into_iter().collect::<Vec<_>>(), [8], "known animals are alike");
    }
}
