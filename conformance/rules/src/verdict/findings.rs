//! The findings on a requirement: its failures by kind, the worst kind first, each with one example, its frequency, its values, and
//! whether it is intermittent.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::harmless;
use crate::rules::Failure;
pub use crate::rules::alike::Share;
use crate::rules::alike::{Alike, by_kind, decisive, decisive_numbers, only_with};
use crate::verdict::attribution::Attribution;

/// The maximum number of subjects that a finding names.
const MAX_SUBJECTS: usize = 6;

/// Failures of one kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The plainest failure: the one with the smallest request.
    pub example: Failure,
    /// The number of failures.
    pub count: usize,
    /// The parts of the requests that the failures are about, without repetition: the first few.
    pub subjects: Vec<String>,
    /// The number of repetitions of the same request that show the failure, if only some do.
    pub intermittent: Option<Share>,
    /// The harmless differences of requests without which the failure does not show, if a repetition has confirmed it.
    pub only_with: Vec<String>,
    /// The replicas that show the failure, if the service has several addresses and not simply all of them do.
    pub attribution: Option<Attribution>,
}

/// The failures of a requirement by kind: the worst kind first, and among equally bad kinds the plainest. `attribute` returns the
/// replicas that show the failures of one kind.
pub(super) fn findings(
    facts: &Facts<'_>,
    failures: &[Failure],
    attribute: impl Fn(&[&Failure]) -> Option<Attribution>,
) -> Vec<Finding> {
    let history = facts.history;
    let decisive = decisive_numbers(failures);
    let mut findings: Vec<Finding> = by_kind(failures)
        .into_iter()
        .filter_map(|of_kind| {
            let example = *of_kind.iter().min_by_key(|failure| size(history, failure))?;
            let attribution = attribute(&of_kind);
            // A failure that one replica shows often appears rare among all answers.
            let is_explained = match &attribution {
                Some(Attribution::Only { broken, requests, .. }) => 3 * broken > *requests,
                other => other.is_some(),
            };
            let only_with = only_with(history, &decisive, &of_kind);
            Some(Finding {
                example: example.clone(),
                count: of_kind.len(),
                subjects: subjects(&of_kind),
                intermittent: share(history, &decisive, example).filter(|_| !is_explained && only_with.is_empty()),
                only_with,
                attribution,
            })
        })
        .collect();
    findings.sort_by_key(|finding| (badness(history, &finding.example), size(history, &finding.example)));
    findings
}

/// The size of the decisive request: after shrinking, the smallest is the simplest counterexample.
fn size(history: &History<'_>, failure: &Failure) -> usize {
    decisive(history, failure).map_or(0, |entry| {
        let request = &entry.exchange.request;
        request.body.as_ref().map_or(0, |body| body.bytes.len()) + request.target().len()
    })
}

/// The rank of a failure, the worst first: a success that is wrong or should be none, no answer, a server error, and any other
/// refusal.
fn badness(history: &History<'_>, failure: &Failure) -> u8 {
    match decisive(history, failure).map(Entry::status) {
        Some(Some(200..=299)) => 0,
        Some(None) => 1,
        Some(Some(500..=599)) => 2,
        _ => 3,
    }
}

fn subjects(failures: &[&Failure]) -> Vec<String> {
    let mut subjects: Vec<String> = Vec::new();
    for subject in failures.iter().filter_map(|failure| failure.subject.as_ref()) {
        if !subjects.contains(subject) {
            subjects.push(subject.clone());
        }
    }
    if subjects.len() > MAX_SUBJECTS {
        subjects.truncate(MAX_SUBJECTS);
        subjects.push("…".to_owned());
    }
    subjects
}

/// The share of the repetitions of one request that show a failure, if a later repetition does not and few similar requests do. A
/// failure that depends on the state of the server shows from some moment on, and one that depends on the request shows each time.
fn share(history: &History<'_>, broken: &BTreeSet<usize>, failure: &Failure) -> Option<Share> {
    Alike::to(history, broken, failure).filter(Alike::is_rare)?;
    let example = decisive(history, failure)?.exchange;
    let (mut share, mut held_later) = (Share { broken: 0, alike: 0 }, false);
    for exchange in history.entries.iter().map(|entry| entry.exchange) {
        // Two repetitions differ at most in harmless ways, in the connection, and in the replica that they are sent to.
        let (one, other) = (&exchange.request, &example.request);
        if (&one.method, &one.path) != (&other.method, &other.path) || harmless::plain(one) != harmless::plain(other) {
            continue;
        }
        share.alike += 1;
        if broken.contains(&exchange.number) {
            share.broken += 1;
        } else {
            held_later |= exchange.number > example.number;
        }
    }
    held_later.then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rules;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;

    fn found(builder: TraceBuilder, id: &str) -> Vec<Finding> {
        let trace = builder.trace();
        let history = History::new(&trace);
        let facts = Facts::new(&history);
        let rule = rules().into_iter().find(|rule| rule.id == id).expect("a rule");
        findings(&facts, &rule.judge(&facts).failures, |_| None)
    }

    fn categories(answers: &[(&str, u16)]) -> TraceBuilder {
        answers.iter().fold(TraceBuilder::new(), |builder, (category, status)| {
            let body = format!(r#"{{"name":"Rex 1","categoryId":{category}}}"#);
            builder.ask(Request::new("POST", "/pets").json(body), *status, String::new())
        })
    }

    #[test]
    fn one_of_each_kind_is_shown_the_worst_first_with_what_it_is_about() {
        let builder = categories(&[("\"one\"", 422), ("\"1\"", 201), ("[1]", 422), ("true", 201), ("\"1\"", 422)]);
        let findings = found(builder, "create.category-type");
        let shown: Vec<(usize, String, Vec<&str>)> = findings
            .iter()
            .map(|finding| {
                let subjects = finding.subjects.iter().map(String::as_str).collect();
                (finding.count, finding.example.found.to_string(), subjects)
            })
            .collect();
        assert_eq!(
            shown,
            [
                (2, "201 on POST /pets".to_owned(), vec!["\"1\"", "true"]),
                (3, "422 on POST /pets".to_owned(), vec!["\"one\"", "[1]", "\"1\""])
            ]
        );
        assert_eq!(findings[1].example.exchanges, [3], "the plainest of them");
    }

    #[test]
    fn what_shows_in_one_of_many_like_requests_is_intermittent() {
        let lists = |statuses: &[u16]| {
            let builder = statuses.iter().fold(TraceBuilder::new(), |builder, status| builder.list(*status, 9, 60));
            found(builder, "list.success")[0].intermittent
        };
        assert_eq!(lists(&[200, 200, 500, 200, 200]), Some(Share { broken: 1, alike: 5 }));
        assert_eq!(lists(&[200, 200, 200, 500]), None, "it may have broken for good");
        let created = (1..=4).fold(TraceBuilder::new(), |builder, id| builder.create(id));
        let fetch = |builder: TraceBuilder, id: i64, status| {
            builder.ask(Request::new("GET", format!("/pets/{id}")), status, String::new())
        };
        let fetched = [(1, 500), (2, 200), (3, 200), (4, 200)];
        let fetched = fetched.into_iter().fold(created, |builder, (id, status)| fetch(builder, id, status));
        assert_eq!(found(fetched, "get.success")[0].intermittent, None, "no request was repeated");
    }
}
