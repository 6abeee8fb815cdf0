//! The allowance of callers without a valid key: a service may count their requests too, and refuse those beyond a limit.
//!
//! The specification asks for 401 whenever a key is missing or invalid. A 429 is excused only if the responses to such callers have
//! counted an allowance of their own down to nothing, or if other clients are seen to use it together with the judge.

use std::collections::HashSet;

use crate::history::{Entry, History};
use crate::request::{Credential, Defect};
use crate::trace::rate_limit::Window;

/// The allowance of callers without a valid key, as far as the responses to them show it.
#[derive(Debug, Default)]
pub struct Anonymous {
    /// The numbers of the refused exchanges that the allowance explains.
    explained: HashSet<usize>,
}

/// The least number of requests with a key, between two answers to callers without one, that shows whether both are counted together.
const CONCLUSIVE: u64 = 3;

impl Anonymous {
    /// Finds the refusals of callers without a valid key that an exhausted allowance explains.
    pub fn new(history: &History<'_>) -> Anonymous {
        let callers: Vec<&Entry<'_>> =
            history.entries.iter().filter(|entry| entry.credential.is_invalid() && entry.status().is_some()).collect();
        let mut explained = HashSet::new();
        if shares_the_keys_count(&callers) {
            return Anonymous { explained };
        }
        for (at, entry) in callers.iter().enumerate().filter(|(_, entry)| entry.status() == Some(429)) {
            // Several replicas may count such callers together, or each by itself. Callers without a credential, or without a bearer token, may be
            // counted apart from the others.
            let replica = entry.exchange.request.replica;
            let (credential, token) = (has_credential(entry), bears_token(entry));
            let counted = |is_counted: &dyn Fn(&Entry<'_>) -> bool| {
                let earlier: Vec<&Entry<'_>> =
                    callers[..at].iter().copied().filter(|other| is_counted(other)).collect();
                is_exhausted(&earlier) || is_exhausted_by_others(&earlier, entry)
            };
            if counted(&|_| true)
                || counted(&|other| other.exchange.request.replica == replica)
                || counted(&|other| has_credential(other) == credential)
                || counted(&|other| bears_token(other) == token)
            {
                explained.insert(entry.exchange.number);
            }
        }
        Anonymous { explained }
    }

    /// Returns true if an entry is the refusal of a caller without a valid key, and the allowance was exhausted.
    pub fn explains(&self, entry: &Entry<'_>) -> bool {
        self.explained.contains(&entry.exchange.number)
    }
}

/// Returns true if a caller without a valid key has sent another credential.
fn has_credential(entry: &Entry<'_>) -> bool {
    entry.credential != Credential::Invalid(Defect::Absent)
}

/// Returns true if a caller without a valid key has sent another bearer token.
fn bears_token(entry: &Entry<'_>) -> bool {
    let scheme = entry.exchange.request.authorization.as_deref().and_then(|value| value.get(..7));
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "))
}

/// Returns true if the answers to these callers have counted an allowance down to nothing. Remaining may be reported before the request is
/// counted, requests since the last report, such as those to no operation, may have been counted as well, and a sliding limit may have
/// restored as many requests as were used.
fn is_exhausted(callers: &[&Entry<'_>]) -> bool {
    let admitted = callers.iter().rev().filter(|other| other.status() != Some(429));
    let mut reported = admitted.enumerate().filter_map(|(since, entry)| Some((since as u64, allowance(entry)?)));
    let Some((since, last)) = reported.next() else { return false };
    let before = reported.map(|(_, window)| window).take_while(|window| window.limit == last.limit);
    let remaining: Vec<u64> = std::iter::once(last).chain(before).map(|window| window.remaining).collect();
    let has_fallen = remaining.windows(2).any(|pair| pair[0] < pair[1]);
    last.remaining <= 1 + since && (has_fallen || last.limit == 1)
}

/// Returns true if a refusal reports that nothing remains of the last reported allowance, and other clients are seen to use it: between two
/// answers it fell by more than the one request that was sent.
fn is_exhausted_by_others(callers: &[&Entry<'_>], refused: &Entry<'_>) -> bool {
    let Some(last) = callers.iter().rev().find_map(|entry| allowance(entry)) else { return false };
    let is_empty = refused.window().is_some_and(|now| now.remaining == 0 && now.is_same(last));
    // If requests with a key were counted as well, Remaining would have fallen by all requests in between.
    is_empty && falls(callers).any(|(fell, between)| fell > 1 && (between == 0 || fell < between + 1))
}

/// The falls of Remaining between successive answers of one window, each with the number of requests in between, which all have a key.
fn falls(callers: &[&Entry<'_>]) -> impl Iterator<Item = (u64, u64)> {
    callers.windows(2).filter_map(|pair| {
        let (first, second) = (allowance(pair[0])?, allowance(pair[1])?);
        let between = pair[1].exchange.number.saturating_sub(pair[0].exchange.number + 1) as u64;
        let fell = first.remaining.checked_sub(second.remaining)?;
        (pair[0].precedes(pair[1]) && first.is_same(second)).then_some((fell, between))
    })
}

/// The window that a 401 reports. A response with another status may have been made before the request was counted, with other figures.
fn allowance(entry: &Entry<'_>) -> Option<Window> {
    entry.window().filter(|_| entry.status() == Some(401))
}

/// Returns true if requests with a key lower the Remaining of callers without one, so that the allowance is not that of such callers
/// alone. Other clients may lower it by the same number by chance, but not between all answers. They show where no request with a key is
/// in between.
fn shares_the_keys_count(callers: &[&Entry<'_>]) -> bool {
    let conclusive: Vec<(u64, u64)> = falls(callers).filter(|(_, between)| *between >= CONCLUSIVE).collect();
    conclusive.iter().any(|(fell, between)| *fell == between + 1)
        && conclusive.iter().all(|(fell, between)| *fell > *between)
        && !falls(callers).any(|(fell, between)| fell > 1 && between == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TraceBuilder;

    /// Whether the allowance explains the last response.
    fn explains_last(builder: TraceBuilder) -> bool {
        let trace = builder.trace();
        let history = History::new(&trace);
        history.entries.last().is_some_and(|last| Anonymous::new(&history).explains(last))
    }

    /// Responses to callers without a key, each with its status and what remains.
    fn callers(limit: u64, answers: &[(u16, u64)]) -> TraceBuilder {
        TraceBuilder::new().key("nobody").lists(limit, answers)
    }

    /// Responses to the key, and then to callers without one.
    fn with_a_key(builder: TraceBuilder, answers: &[(u16, u64)], limit: u64, callers: &[(u16, u64)]) -> TraceBuilder {
        builder.key("sk-Key1").lists(60, answers).key("nobody").lists(limit, callers)
    }

    #[test]
    fn a_refusal_is_explained_by_an_allowance_that_was_counted_down_to_nothing() {
        for (why, is_explained, limit, answers) in [
            ("counted down", true, 3, &[(401, 2), (401, 1), (401, 0), (429, 0)][..]),
            ("refused again", true, 3, &[(401, 2), (401, 1), (401, 0), (429, 0), (429, 0)]),
            ("counted late", true, 3, &[(401, 3), (401, 2), (401, 1), (429, 0)]),
            ("one at a time", true, 1, &[(401, 0), (429, 0), (401, 0), (429, 0)]),
            ("restored by a sliding limit", true, 9, &[(401, 2), (401, 1), (429, 0), (401, 1), (429, 0)]),
            ("it never falls", false, 9, &[(401, 1), (401, 1), (429, 0), (401, 1), (429, 0)]),
            ("seven remained", false, 9, &[(401, 8), (401, 7), (429, 0)]),
            ("no allowance", false, 3, &[(401, 0), (401, 0), (429, 0)]),
            ("nothing was seen before", false, 60, &[(429, 0)]),
            ("other callers use it", true, 30, &[(401, 20), (401, 18), (401, 17), (429, 0)]),
            ("no other caller shows", false, 30, &[(401, 19), (401, 18), (401, 17), (429, 0)]),
            ("some remain", false, 30, &[(401, 20), (401, 18), (401, 17), (429, 16)]),
        ] {
            assert_eq!(explains_last(callers(limit, answers)), is_explained, "{why}");
        }
    }

    #[test]
    fn others_without_a_key_may_have_used_the_rest_of_this_window_only() {
        let after = |seconds: i64| {
            let first = TraceBuilder::new().window(30).key("nobody").lists(30, &[(401, 20), (401, 18)]);
            first.wait(seconds).window(30).list(429, 0, 30)
        };
        assert!(explains_last(after(2)) && !explains_last(after(3)));
    }

    #[test]
    fn replicas_may_count_callers_without_a_key_together_or_each_by_itself() {
        let explains = |answers: &[(usize, u16, u64)]| {
            let builder = TraceBuilder::new().fleet(2).key("nobody");
            let answer = |builder: TraceBuilder, (at, status, left): &(usize, u16, u64)| {
                builder.list(*status, *left, 3).replica(*at)
            };
            explains_last(answers.iter().fold(builder, answer))
        };
        assert!(explains(&[(0, 401, 2), (1, 401, 1), (0, 401, 0), (1, 429, 0)]), "together");
        assert!(explains(&[(0, 401, 1), (0, 401, 0), (1, 401, 2), (0, 429, 0)]), "each by itself");
        assert!(!explains(&[(0, 401, 2), (0, 401, 1), (0, 401, 0), (1, 401, 2), (1, 429, 0)]), "the other one's");
    }

    #[test]
    fn callers_without_a_credential_or_a_token_may_be_counted_apart_from_those_with_an_unknown_one() {
        for other in [None, Some("ApiKey x".to_owned())] {
            let without = |builder: TraceBuilder| {
                builder.change_last(|exchange| exchange.request.authorization.clone_from(&other))
            };
            let both = |builder: TraceBuilder, left: &u64| without(builder.list(401, *left, 3).list(401, 60, 60));
            let refused = || [2, 1, 0].iter().fold(TraceBuilder::new().key("nobody"), both).list(429, 0, 3);
            assert!(explains_last(refused()) && !explains_last(without(refused())), "{other:?}");
        }
    }

    #[test]
    fn requests_with_a_key_may_be_counted_together_with_those_without() {
        let left = |least: u64, most: u64| -> Vec<(u16, u64)> {
            (least..=most).rev().map(|left| (401, left)).chain([(429, 0)]).collect()
        };
        let keyed = [(200, 59), (200, 58), (200, 57)];
        let shared = |most| with_a_key(callers(10, &[(401, 9)]), &keyed, 10, &left(0, most));
        assert!(explains_last(shared(8)), "each is counted by itself");
        assert!(!explains_last(shared(5)), "all are counted together");
        let once = with_a_key(callers(30, &[(401, 20)]), &keyed[..1], 30, &[(401, 18), (429, 0)]);
        assert!(!explains_last(once), "the request with the key may have been counted");
        let several = with_a_key(callers(30, &[(401, 20)]), &keyed, 30, &[(401, 18), (429, 0)]);
        assert!(explains_last(several), "those with a key cannot all have been counted");
    }
}
