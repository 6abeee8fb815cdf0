//! The allowance of callers without a valid key: a service may count their requests too, and refuse those beyond a limit.
//!
//! The specification asks for 401 whenever a key is missing or invalid. A 429 is excused only if the responses to such callers have
//! counted an allowance of their own down to nothing, or if other clients are seen to use it together with the judge.

use std::collections::HashSet;

use crate::history::{Entry, History};
use crate::trace::rate_limit::{RateHeaders, Window};

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
    #[must_use]
    pub fn new(history: &History<'_>) -> Anonymous {
        let callers: Vec<&Entry<'_>> =
            history.entries.iter().filter(|entry| entry.credential.is_invalid() && entry.status().is_some()).collect();
        if !callers.iter().any(|entry| entry.status() == Some(429)) || shares_the_keys_count(&callers) {
            return Anonymous::default();
        }
        let mut explained = HashSet::new();
        for (at, entry) in callers.iter().enumerate().filter(|(_, entry)| entry.status() == Some(429)) {
            // Several replicas may count such callers together, or each by itself.
            let replica = entry.exchange.request.replica;
            let earlier = callers[..at].iter().copied();
            let of_replica: Vec<&Entry<'_>> =
                earlier.filter(|other| other.exchange.request.replica == replica).collect();
            if is_explained(&callers[..at], entry) || is_explained(&of_replica, entry) {
                explained.insert(entry.exchange.number);
            }
        }
        Anonymous { explained }
    }

    /// Returns true if an entry is the refusal of a caller without a valid key, and the allowance was exhausted.
    #[must_use]
    pub fn explains(&self, entry: &Entry<'_>) -> bool {
        self.explained.contains(&entry.exchange.number)
    }
}

/// Returns true if the allowance was exhausted when a caller was refused, given the earlier callers.
fn is_explained(callers: &[&Entry<'_>], refused: &Entry<'_>) -> bool {
    is_exhausted(callers) || is_exhausted_by_others(callers, refused)
}

/// Returns true if the answers to these callers have counted an allowance down to nothing.
fn is_exhausted(callers: &[&Entry<'_>]) -> bool {
    let admitted = callers.iter().rev().filter(|other| other.status() != Some(429));
    let mut reported = admitted.enumerate().filter_map(|(since, entry)| Some((since as u64, allowance(entry)?)));
    let Some((since, last)) = reported.next() else { return false };
    let before: Vec<Window> =
        reported.map(|(_, window)| window).take_while(|window| window.limit == last.limit).collect();
    is_last(last, &before, since)
}

/// Returns true if a refusal reports that nothing remains of the last reported allowance, and other clients are seen to use it: between two
/// answers it fell by more than the one request that was sent.
fn is_exhausted_by_others(callers: &[&Entry<'_>], refused: &Entry<'_>) -> bool {
    let Some(last) = callers.iter().rev().find_map(|entry| allowance(entry)) else { return false };
    let is_empty = window(refused).is_some_and(|now| now.remaining == 0 && now.is_same(last));
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

fn window(entry: &Entry<'_>) -> Option<Window> {
    entry.rate.as_ref().and_then(RateHeaders::window)
}

/// The window that a 401 reports. A response with another status may have been made before the request was counted, with other figures.
fn allowance(entry: &Entry<'_>) -> Option<Window> {
    window(entry).filter(|_| entry.status() == Some(401))
}

/// Returns true if a report was the last one of an allowance that falls, given the reports before it, the latest first. Remaining may be
/// reported before the request is counted. `since` further requests, such as those to no operation, may have been counted without a report.
/// A sliding limit may have restored as many requests as were used.
fn is_last(last: Window, before: &[Window], since: u64) -> bool {
    let earlier = before.iter().map(|window| window.remaining);
    let later = std::iter::once(last.remaining).chain(earlier.clone());
    let falls = earlier.zip(later).any(|(earlier, later)| earlier > later);
    last.remaining <= 1 + since && (falls || last.limit == 1)
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
    use crate::trace_builder::TraceBuilder;

    /// Which of these answers to callers without a key the allowance explains.
    fn explained(limit: u64, answers: &[(u16, u64)]) -> Vec<bool> {
        let trace = TraceBuilder::new().key("nobody").lists(limit, answers).trace();
        let history = History::new(&trace);
        let anonymous = Anonymous::new(&history);
        history.entries.iter().map(|entry| anonymous.explains(entry)).collect()
    }

    #[test]
    fn what_is_refused_otherwise_may_report_other_figures() {
        let answers = |status: u16, limit: u64| {
            let begun = TraceBuilder::new().key("nobody").lists(3, &[(401, 1), (401, 0)]);
            let trace = begun.list(status, 0, limit).list(429, 0, 3).trace();
            let history = History::new(&trace);
            Anonymous::new(&history).explains(&history.entries[3])
        };
        assert!(answers(400, 0));
        assert!(!answers(401, 0), "that is another limit");
    }

    #[test]
    fn a_refusal_is_explained_by_an_allowance_that_was_counted_down_to_nothing() {
        assert_eq!(
            explained(3, &[(401, 2), (401, 1), (401, 0), (429, 0), (429, 0)]),
            [false, false, false, true, true]
        );
        assert_eq!(
            explained(3, &[(401, 3), (401, 2), (401, 1), (429, 0)]),
            [false, false, false, true],
            "counted late"
        );
        assert_eq!(explained(1, &[(401, 0), (429, 0), (401, 0), (429, 0)]), [false, true, false, true]);
    }

    #[test]
    fn an_allowance_that_slides_may_have_restored_what_was_used() {
        let refused = [false, false, true, false, true];
        assert_eq!(explained(9, &[(401, 2), (401, 1), (429, 0), (401, 1), (429, 0)]), refused);
        assert_eq!(explained(9, &[(401, 1), (401, 1), (429, 0), (401, 1), (429, 0)]), [false; 5], "it never falls");
    }

    #[test]
    fn a_refusal_is_not_explained_by_what_remains_or_never_falls() {
        assert_eq!(explained(9, &[(401, 8), (401, 7), (429, 0)]), [false; 3], "seven remained");
        assert_eq!(explained(0, &[(401, 0), (401, 0), (429, 0)]), [false; 3], "no allowance");
        assert_eq!(explained(60, &[(429, 0)]), [false], "nothing was seen before");
    }

    #[test]
    fn others_without_a_key_may_have_used_the_rest_where_they_are_seen_to_use_some() {
        let refused = [false, false, false, true];
        assert_eq!(explained(30, &[(401, 20), (401, 18), (401, 17), (429, 0)]), refused);
        assert_eq!(explained(30, &[(401, 19), (401, 18), (401, 17), (429, 0)]), [false; 4], "nobody else shows");
        assert_eq!(explained(30, &[(401, 20), (401, 18), (401, 17), (429, 16)]), [false; 4], "some remain");
        let after = |seconds: i64| {
            let first = TraceBuilder::new().window(30).key("nobody").lists(30, &[(401, 20), (401, 18)]);
            let trace = first.wait(seconds).window(30).list(429, 0, 30).trace();
            let history = History::new(&trace);
            Anonymous::new(&history).explains(&history.entries[2])
        };
        assert!(after(2) && !after(3), "of another window");
        let with_a_key = TraceBuilder::new().key("nobody").list(401, 20, 30).key("sk-Key1").list(200, 59, 60);
        let trace = with_a_key.key("nobody").lists(30, &[(401, 18), (429, 0)]).trace();
        let history = History::new(&trace);
        assert!(
            !Anonymous::new(&history).explains(&history.entries[3]),
            "the request with the key may have been counted"
        );
        let with_several = TraceBuilder::new().key("nobody").list(401, 20, 30).key("sk-Key1");
        let with_several = with_several.lists(60, &[(200, 59), (200, 58), (200, 57)]).key("nobody");
        let trace = with_several.lists(30, &[(401, 18), (429, 0)]).trace();
        let history = History::new(&trace);
        assert!(
            Anonymous::new(&history).explains(&history.entries[5]),
            "those with a key cannot all have been counted"
        );
    }

    #[test]
    fn what_reported_nothing_may_have_used_the_rest_of_an_allowance() {
        let explains = |remaining: u64| {
            let builder = TraceBuilder::new().key("nobody").lists(40, &[(401, remaining + 1), (401, remaining)]);
            let trace = builder.elsewhere().lists(40, &[(429, 0)]).trace();
            let history = History::new(&trace);
            Anonymous::new(&history).explains(&history.entries[3])
        };
        assert!(explains(1) && explains(2));
        assert!(!explains(3), "one was left, at the least");
    }

    #[test]
    fn replicas_may_count_callers_without_a_key_together_or_each_by_itself() {
        let explains = |answers: &[(usize, u16, u64)]| {
            let builder = TraceBuilder::new().fleet(2).key("nobody");
            let answer = |builder: TraceBuilder, (at, status, left): &(usize, u16, u64)| {
                builder.list(*status, *left, 3).replica(*at)
            };
            let trace = answers.iter().fold(builder, answer).trace();
            let history = History::new(&trace);
            Anonymous::new(&history).explains(&history.entries[answers.len() - 1])
        };
        assert!(explains(&[(0, 401, 2), (1, 401, 1), (0, 401, 0), (1, 429, 0)]), "together");
        assert!(explains(&[(0, 401, 1), (0, 401, 0), (1, 401, 2), (0, 429, 0)]), "each by itself");
        assert!(!explains(&[(0, 401, 2), (0, 401, 1), (0, 401, 0), (1, 401, 2), (1, 429, 0)]), "the other one's");
    }

    #[test]
    fn what_requests_with_a_key_consume_is_no_allowance_of_callers_without_one() {
        let shared = |keyless: u64| {
            let builder = TraceBuilder::new().key("nobody").list(401, 9, 10).key("sk-Key1");
            let builder = builder.lists(10, &[(200, 8), (200, 7), (200, 6)]).key("nobody");
            let left: Vec<(u16, u64)> = (0..=keyless).rev().map(|left| (401, left)).chain([(429, 0)]).collect();
            let trace = builder.lists(10, &left).trace();
            let history = History::new(&trace);
            Anonymous::new(&history).explains(&history.entries[trace.exchanges.len() - 1])
        };
        assert!(shared(8), "each is counted by itself");
        let by_chance = TraceBuilder::new().key("nobody").list(401, 20, 30).key("sk-Key1");
        let by_chance = by_chance.lists(60, &[(200, 59), (200, 58), (200, 57)]).key("nobody").list(401, 16, 30);
        let by_chance = by_chance.key("sk-Key1").lists(60, &[(200, 56), (200, 55), (200, 54)]).key("nobody");
        let trace = by_chance.lists(30, &[(401, 14), (429, 0)]).trace();
        let history = History::new(&trace);
        assert!(Anonymous::new(&history).explains(&history.entries[9]), "others used three at first, and one then");
        assert!(!shared(5), "all are counted together");
    }
}
