//! The limits of each key: the responses with readable rate-limit header fields, and their explanation. Each fact is derived from the
//! history when it is first needed.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::Explanation;
use super::anonymous::Anonymous;
use crate::catalogue::plan::PlanLimits;
use crate::history::{Entry, History};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

/// An answer of an operation to a valid key, with the window that its headers report.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'h> {
    /// The exchange of the answer.
    pub entry: &'h Entry<'h>,
    /// The window that the three header fields report.
    pub window: Window,
}

impl Answer<'_> {
    /// Returns true if this exchange was complete before the other request was sent.
    pub fn precedes(&self, other: &Answer<'_>) -> bool {
        self.entry.precedes(other.entry)
    }

    /// The time until Reset in seconds by the server's clock, or `None` without a `Date`.
    pub fn ahead(&self) -> Option<i64> {
        Some(self.window.reset - self.entry.server_time()?.as_second())
    }

    /// The time until Reset in seconds when the answer goes out: by the server's clock, else by the judge's.
    pub fn left(&self) -> i64 {
        self.window.reset - self.entry.answered_at().as_second()
    }

    /// Returns true if the window ends later than a minute can.
    pub(super) fn is_far(&self) -> bool {
        self.left() > Tolerance::LONGEST_MINUTE.seconds()
    }
}

/// The first of these answers, and each further one whose request was sent after the answer selected before was complete.
pub fn one_after_another<'a, 'h: 'a>(answers: impl IntoIterator<Item = &'a Answer<'h>>) -> Vec<Answer<'h>> {
    let mut chain: Vec<Answer<'h>> = Vec::new();
    for answer in answers {
        if chain.last().is_none_or(|last| last.precedes(answer)) {
            chain.push(*answer);
        }
    }
    chain
}

/// The limits of every key of a trace, and of callers without a valid key.
#[derive(Debug)]
pub struct Limiter<'h> {
    keys: Vec<KeyLimits<'h>>,
    anonymous: Anonymous,
}

impl<'h> Limiter<'h> {
    /// Divides the requests of a history by key.
    pub fn new(history: &'h History<'h>) -> Limiter<'h> {
        let mut by_key = vec![Vec::new(); history.context.keys.len()];
        for entry in &history.entries {
            if let Some(of_key) = entry.key().and_then(|key| by_key.get_mut(key)) {
                of_key.push(entry);
            }
        }
        Limiter {
            keys: by_key.iter().enumerate().map(|(key, entries)| KeyLimits::new(history, key, entries)).collect(),
            anonymous: Anonymous::new(history),
        }
    }

    /// The limits of each key, in the order of the context.
    pub fn keys(&self) -> &[KeyLimits<'h>] {
        &self.keys
    }

    /// The allowance of callers without a valid key.
    pub fn anonymous(&self) -> &Anonymous {
        &self.anonymous
    }

    /// The limits of the key with this index in the context.
    pub fn key(&self, index: usize) -> Option<&KeyLimits<'h>> {
        self.keys.get(index)
    }

    /// The limits of the key that a request came with, if it was a valid key in the described form.
    pub fn limits_of(&self, entry: &Entry<'_>) -> Option<&KeyLimits<'h>> {
        self.key(entry.key()?)
    }

    /// The limits of a key's plan, as far as they are known.
    pub fn plan_limits(&self, index: usize) -> Option<PlanLimits> {
        self.key(index)?.plan_limits()
    }
}

/// The limits of one key: its answers, and the facts that are derived from them when they are first needed.
#[derive(Debug)]
pub struct KeyLimits<'h> {
    pub(super) history: &'h History<'h>,
    pub(super) index: usize,
    answers: Vec<Answer<'h>>,
    refused: usize,
    pub(super) plan_limits: OnceCell<Option<PlanLimits>>,
    /// The Limit and the Reset of each window whose end was reported further ahead than a minute.
    pub(super) far_windows: OnceCell<HashSet<(u64, i64)>>,
    /// The index of the first answer that reports each window.
    pub(super) first_reports: OnceCell<HashMap<Window, usize>>,
    pub(super) by_address: OnceCell<bool>,
    pub(super) reported_ends: OnceCell<HashSet<(u64, i64)>>,
    pub(super) explanation: OnceCell<Explanation<'h>>,
}

impl<'h> KeyLimits<'h> {
    /// The limits of the key with this index, with which these requests came.
    pub(super) fn new(history: &'h History<'h>, index: usize, entries: &[&'h Entry<'h>]) -> KeyLimits<'h> {
        let of_operations = entries.iter().copied().filter(|entry| entry.is_of_operation());
        let reported = |entry: &'h Entry<'h>| Some(Answer { entry, window: entry.window()? });
        KeyLimits {
            history,
            index,
            answers: of_operations.clone().filter_map(reported).collect(),
            refused: of_operations.filter(|entry| entry.is_limited()).count(),
            plan_limits: OnceCell::new(),
            far_windows: OnceCell::new(),
            first_reports: OnceCell::new(),
            by_address: OnceCell::new(),
            reported_ends: OnceCell::new(),
            explanation: OnceCell::new(),
        }
    }

    /// The index of the key in the context.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The answers of operations to the key with readable rate-limit header fields, in the order of sending.
    pub fn answers(&self) -> &[Answer<'h>] {
        &self.answers
    }

    /// The number of requests of operations that were refused for the rate, with or without readable header fields.
    pub fn refused(&self) -> usize {
        self.refused
    }
}
