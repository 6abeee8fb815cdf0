//! The acceptance of keys over time.
//!
//! The specification does not say how a key is issued or revoked. So a service may refuse a key with 401 until it is known, and again from
//! some time on. It may also lock out an address that has sent many unknown keys: then every request from there gets the same refusal. A key
//! that is refused between two responses that accept it is refused in error.
//!
//! | responses to the key | course |
//! |---|---|
//! | 401, 401, 200, 404 | known from the third request on |
//! | 200, 404, 401, 401 | ended with the third request |
//! | 200, 401, 200, 401 | refused now and then, which breaks `auth.valid-key` |

use std::fmt;

use super::Entry;
use crate::request::{Credential, Defect};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

/// The number of unknown keys that a service must have refused before it may lock out their sender.
const MANY: usize = 5;

/// The number of equal refusals in a row that make a lock-out likely.
const LIKELY: usize = 2;

/// The acceptance of one key in the course of a trace. Entries are named by their indices.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Acceptance {
    /// The entries that show the key to be accepted.
    pub accepted: Vec<usize>,
    /// The refusals that no time of validity explains.
    pub refused: Vec<usize>,
    /// The refusals before the first acceptance, after which there was none.
    unknown_yet: Vec<usize>,
    /// The refusals after the last acceptance, before which there was none.
    ended: Vec<usize>,
}

impl Acceptance {
    /// Reads the acceptance of the key whose entries have these indices.
    fn of(entries: &[Entry<'_>], of_key: &[usize]) -> Acceptance {
        let accepted: Vec<usize> = of_key.iter().copied().filter(|at| entries[*at].shows_acceptance()).collect();
        let (Some(first), Some(last)) = (accepted.first().copied(), accepted.last().copied()) else {
            return Acceptance::default();
        };
        let mut all = of_key.to_vec();
        // Another form of the key than the described one may be refused at any time.
        let is_valid = |entry: &Entry<'_>| matches!(entry.credential, Credential::Valid(_));
        all.retain(|at| {
            entries[*at].status() == Some(401) && is_valid(&entries[*at]) && entries[*at].is_of_operation()
        });
        let (unknown_yet, later): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| **at < first);
        let (ended, between): (Vec<usize>, Vec<usize>) = later.into_iter().partition(|at| *at > last);
        // The end of a key may reach one replica later than another.
        let is_near_end = |at: &usize| {
            let passed = entries[last].exchange.received_at.duration_since(entries[*at].exchange.sent_at);
            passed <= Tolerance::READ_LAG.duration()
        };
        if between.len() > ended.len() || !between.iter().all(is_near_end) {
            return Acceptance { accepted, refused: all, ..Acceptance::default() };
        }
        Acceptance { accepted, refused: Vec::new(), unknown_yet, ended: [between, ended].concat() }
    }
}

/// A lock-out of an address: from some request on, every request gets the same refusal, with a valid key or without.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct LockOut {
    /// The index of the first refused entry.
    from: usize,
    status: u16,
    /// The number of unknown keys that were refused before.
    unknown: usize,
    /// Whether requests with a valid key and without one were refused, so that the lock-out is certain.
    is_certain: bool,
}

impl LockOut {
    /// Finds the lock-out that lasts until the end of a trace.
    fn of(entries: &[Entry<'_>]) -> Option<LockOut> {
        let mut status = None;
        let (mut from, mut with_key, mut without) = (entries.len(), 0, 0);
        for (at, entry) in entries.iter().enumerate().rev() {
            let Some(answer) = entry.status() else { continue };
            // A valid request may be refused for what is wrong with it, and a request without a key with 401.
            if !matches!(answer, 402 | 403 | 405..=499) || *status.get_or_insert(answer) != answer {
                break;
            }
            match entry.credential {
                // Unknown paths have statuses of their own.
                _ if !entry.is_of_operation() => {}
                Credential::Valid(_) => with_key += usize::from(entry.operation.is_certainly_valid()),
                Credential::Invalid(_) => without += 1,
                _ => {}
            }
            from = at;
        }
        let status = status.filter(|_| with_key + without >= LIKELY)?;
        let before = &entries[..from];
        let is_refused_unknown = |entry: &&Entry<'_>| {
            let is_unknown = entry.credential.is_invalid() && entry.credential != Credential::Invalid(Defect::Absent);
            is_unknown && entry.status() == Some(401)
        };
        let unknown = before.iter().filter(is_refused_unknown).count();
        let is_certain = with_key > 0 && without > 0;
        // An exhausted limit explains refusals of the key, and those of anybody until it resets.
        let window = before.iter().rev().filter(|entry| entry.key().is_some()).find_map(Entry::window);
        let slack = Tolerance::CLOCK_SLACK.seconds();
        let outlasts = |window: Window| {
            let mut refused = entries[from..].iter().filter(|entry| entry.key().is_some());
            refused.any(|entry| entry.answered_at().as_second() > window.reset.saturating_add(slack))
        };
        let has_room = window.map_or(status != 429, |window| window.remaining > 0 || is_certain && outlasts(window));
        (unknown >= MANY && has_room).then_some(LockOut { from, status, unknown, is_certain })
    }
}

/// The end of the access to a service: from some request on, it no longer treats a valid key as one, which it may.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AccessEnd {
    /// A key was revoked or has expired.
    Key {
        /// The index of the key in the context.
        key: usize,
        /// The number of the first exchange that refuses the key.
        number: usize,
    },
    /// The address of the client is locked out.
    Address {
        /// The number of the first refused exchange.
        number: usize,
        /// The status code of all refusals.
        status: u16,
        /// The number of unknown keys that were refused before.
        unknown: usize,
    },
}

impl fmt::Display for AccessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AccessEnd::Key { key, number } => {
                let which = if key == 0 { "the key" } else { "the second key" };
                write!(f, "{which} was refused with 401 from request {number} on: it was revoked or has expired")
            }
            AccessEnd::Address { number, status, unknown } => write!(
                f,
                "every request was answered with {status} from request {number} on, after {unknown} unknown keys: the service has locked out \
                 this address for a time; --skip auth and --profile read-only send no unknown keys"
            ),
        }
    }
}

/// The acceptance of every key of a trace, and the lock-out that ends the trace.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The acceptance of every key, in the order of the context.
    pub keys: Vec<Acceptance>,
    lock_out: Option<LockOut>,
}

impl Access {
    /// Reads the access to a service in a complete trace with this number of keys.
    pub(super) fn of(entries: &[Entry<'_>], keys: usize) -> Access {
        let mut by_key = vec![Vec::new(); keys];
        for (at, entry) in entries.iter().enumerate() {
            if let Some(of_key) = entry.credential.key().and_then(|key| by_key.get_mut(key)) {
                of_key.push(at);
            }
        }
        let keys = by_key.iter().map(|of_key| Acceptance::of(entries, of_key)).collect();
        Access { keys, lock_out: LockOut::of(entries) }
    }

    /// Marks the entries that the service answers as if their key was none, which it may.
    pub(super) fn mark(&self, entries: &mut [Entry<'_>]) {
        for key in &self.keys {
            for at in key.unknown_yet.iter().chain(&key.ended) {
                entries[*at].credential = Credential::Withheld;
            }
        }
        let Some(lock_out) = self.lock_out.filter(|lock_out| lock_out.is_certain) else { return };
        // Requests that were under way together were answered in any order.
        let end = entries[..lock_out.from].last().map(|last| last.exchange.received_at);
        for entry in entries.iter_mut().filter(|entry| entry.status() == Some(lock_out.status)) {
            if entry.exchange.number > lock_out.from || end.is_some_and(|end| entry.exchange.sent_at >= end) {
                entry.shut_out();
            }
        }
    }

    /// The end of the access, if the trace shows one.
    pub fn end(&self) -> Option<AccessEnd> {
        self.likely_end().filter(|_| self.lock_out.is_none_or(|lock_out| lock_out.is_certain))
    }

    /// The end of the access that the last responses make likely. Further requests show whether it is one.
    pub fn likely_end(&self) -> Option<AccessEnd> {
        if let Some(LockOut { from, status, unknown, .. }) = self.lock_out {
            return Some(AccessEnd::Address { number: from + 1, status, unknown });
        }
        self.keys.iter().enumerate().find_map(|(key, acceptance)| {
            acceptance.ended.first().map(|first| AccessEnd::Key { key, number: first + 1 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::tests::TraceBuilder;

    /// A list for each of these status codes, a second apart.
    fn lists(statuses: &[u16]) -> TraceBuilder {
        let list =
            |builder: TraceBuilder, (at, status): (usize, &u16)| builder.wait(1).list(*status, 50 - at as u64, 60);
        statuses.iter().enumerate().fold(TraceBuilder::new(), list)
    }

    #[test]
    fn a_key_is_valid_for_one_time_and_every_other_refusal_is_a_mistake() {
        for (why, statuses, mistakes, ended) in [
            ("never refused", &[200, 404, 200][..], &[][..], None),
            ("new", &[401, 401, 200, 200], &[], None),
            ("revoked", &[200, 200, 401, 401], &[], Some(3)),
            ("revoked at the end of the trace", &[200, 401], &[], Some(2)),
            ("valid for a time", &[401, 200, 401], &[], Some(3)),
            ("refused once", &[200, 401, 200], &[2], None),
            ("refused by every second replica", &[200, 401, 200, 401, 200, 401], &[2, 4, 6], None),
            ("revoked at one replica after the other", &[200, 401, 200, 401, 401, 401], &[], Some(2)),
            ("refused long before its end", &[200, 401, 200, 200, 200, 200, 200, 401, 401], &[2, 8, 9], None),
            ("never accepted", &[401, 401], &[1, 2], None),
            ("limited", &[429, 401, 200], &[], None),
        ] {
            let trace = lists(statuses).trace();
            let end = History::new(&trace).access.end();
            assert_eq!(end, ended.map(|number| AccessEnd::Key { key: 0, number }), "{why}");
            let failures: Vec<usize> = lists(statuses).failures_of("auth.valid-key").concat();
            assert_eq!(failures, mistakes, "{why}");
        }
    }

    /// A list with the key, this many unknown keys, and then one status code with the key and without.
    fn locked(unknown: usize, status: u16, remaining: u64) -> TraceBuilder {
        locked_after(0, unknown, status, remaining)
    }

    /// The same, the status code this many seconds after the rest.
    fn locked_after(seconds: i64, unknown: usize, status: u16, remaining: u64) -> TraceBuilder {
        let known = TraceBuilder::new().list(200, remaining, 60).key("sk-Unknown");
        let refused = (0..unknown).fold(known, |builder, _| builder.list(401, 59, 60));
        let page = |builder: TraceBuilder| builder.list(status, 59, 60).without_rate_limit();
        page(page(page(refused.wait(seconds)).key("sk-Key1")).key("sk-Unknown"))
    }

    #[test]
    fn an_address_that_is_locked_out_after_many_unknown_keys_accuses_nobody() {
        for status in [403, 429, 418] {
            let trace = locked(6, status, 9).trace();
            let end = History::new(&trace).access.end();
            assert_eq!(end, Some(AccessEnd::Address { number: 8, status, unknown: 6 }));
            for rule in ["list.success", "auth.invalid-key", "auth.before-all-else", "headers.limit", "errors.shape"] {
                let failures = locked(6, status, 9).failures_of(rule).concat();
                assert!(failures.iter().all(|number| *number < 8), "{rule} with {status}: {failures:?}");
            }
        }
    }

    #[test]
    fn an_exhausted_limit_explains_refusals_of_everybody_until_it_resets() {
        for status in [403, 429, 418] {
            let is_locked = |seconds| History::new(&locked_after(seconds, 6, status, 0).trace()).access.end().is_some();
            assert_eq!([0, 90].map(is_locked), [false, true], "{status}");
        }
    }

    #[test]
    fn no_lock_out_explains_few_unknown_keys_an_exhausted_limit_or_a_crash() {
        let refused = (0..6).fold(lists(&[200]).key("sk-Unknown"), |builder, _| builder.list(401, 59, 60));
        for (why, builder) in [
            ("few keys", locked(3, 403, 9)),
            ("nothing remains", locked(6, 429, 0)),
            ("the server fails", locked(6, 500, 9)),
            ("the key is accepted again", locked(6, 403, 9).key("sk-Key1").list(200, 8, 60)),
            ("unknown keys get 404", refused.list(404, 59, 60).list(404, 59, 60)),
            ("the key works meanwhile", locked(6, 403, 9).key("sk-Key1").list(404, 8, 60)),
        ] {
            assert_eq!(History::new(&builder.trace()).access.likely_end(), None, "{why}");
        }
    }
}
