//! Bans: what a key may meet after repeated requests over the limit.
//!
//! The specification lets a service ban a key that keeps sending requests after a 429, and does not say what a ban looks like. So
//! once a key has been refused twice, a further refusal need not be a 429: it may be the ban.

use super::Entry;
use crate::request::Credential;

/// This many requests over the limit are repeated ones.
pub(crate) const REPEATED: usize = 2;

/// Marks the answers to keys that may have been banned, by the statuses alone: those that refuse the key right after refusals, or at
/// the same time as some, of which there were several. Of requests at the same time, any may have been dealt with first.
pub(super) fn mark(entries: &mut [Entry<'_>], keys: usize) {
    for key in 0..keys {
        let of_key: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].key() == Some(key)).collect();
        let is_limited = |at: usize| entries[at].status() == Some(429);
        let precedes = |one: usize, other: usize| entries[one].precedes(&entries[other]);
        let mut banned: Vec<usize> = Vec::new();
        for &at in of_key.iter().filter(|at| matches!(entries[**at].status(), Some(401 | 403))) {
            let earlier = || of_key.iter().copied().filter(|other| !precedes(at, *other));
            // Nothing was answered otherwise since.
            let is_latest = |refusal: usize| {
                let since = |other: usize| precedes(refusal, other) && precedes(other, at);
                !of_key.iter().any(|other| since(*other) && !is_limited(*other) && !banned.contains(other))
            };
            let follows = || {
                earlier().any(|other| {
                    (is_limited(other) || banned.contains(&other)) && precedes(other, at) && is_latest(other)
                })
            };
            let is_beside = || earlier().any(|other| is_limited(other) && !precedes(other, at));
            if earlier().filter(|other| is_limited(*other)).count() >= REPEATED && (follows() || is_beside()) {
                banned.push(at);
            }
        }
        banned.into_iter().for_each(|at| entries[at].credential = Credential::Banned);
    }
}

/// Statuses that say something of how a request was transmitted, whatever it asks for: too long a wait for it, too large a target or
/// header section, an expectation, the wrong connection, another protocol.
const OF_TRANSMISSION: [u16; 7] = [408, 414, 417, 421, 425, 426, 431];

/// Marks the answers of a sample that are lawful whatever was asked for. Its keys may have been banned for requests that it does not
/// contain, or revoked by then; callers without a key may have exhausted an allowance of their own.
pub(super) fn withhold(entries: &mut [Entry<'_>]) {
    for entry in entries {
        let Some(status) = entry.status() else { continue };
        let may_be_refused = match entry.credential {
            Credential::Invalid(_) => status == 429,
            _ => matches!(status, 401 | 403),
        };
        if may_be_refused || OF_TRANSMISSION.contains(&status) {
            entry.credential = Credential::Withheld;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::request::Defect;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn after_repeated_refusals_another_that_follows_them_may_be_a_ban() {
        let banned = |statuses: &[u16]| {
            let trace =
                statuses.iter().fold(TraceBuilder::new(), |builder, status| builder.list(*status, 0, 7)).trace();
            History::new(&trace).entries.iter().map(|entry| entry.credential == Credential::Banned).collect::<Vec<_>>()
        };
        assert_eq!(banned(&[429, 403]), [false, false], "one is not repeated");
        assert_eq!(banned(&[429, 429, 403, 401]), [false, false, true, true]);
        assert_eq!(banned(&[429, 200, 429, 403]), [false, false, false, true]);
        assert_eq!(banned(&[429, 429, 200, 403]), [false; 4], "the key is served again");
        assert_eq!(banned(&[429, 429, 404, 403]), [false; 4], "as it is here");
        assert_eq!(banned(&[403, 401, 403]), [false; 3]);
    }

    #[test]
    fn of_requests_at_the_same_time_the_ban_may_have_come_last() {
        let banned = |together| {
            let lists = TraceBuilder::new().list(403, 0, 7).list(429, 0, 7).list(429, 0, 7);
            let trace = lists.together(together).trace();
            History::new(&trace).entries[0].credential == Credential::Banned
        };
        assert!(banned(1..=3));
        assert!(!banned(1..=2), "one is not repeated");
        assert!(!banned(2..=3), "the refusals came later");
        let lists = TraceBuilder::new().list(429, 0, 7).list(429, 0, 7).list(200, 0, 7).together(1..=3);
        let after = lists.list(403, 0, 7).trace();
        let last = History::new(&after).entries[3].credential;
        assert_eq!(last, Credential::Banned, "the success may have come first");
    }

    #[test]
    fn a_ban_is_of_one_key() {
        let builder = TraceBuilder::new().list(429, 0, 7).list(429, 0, 7).key("sk-Other").list(403, 0, 7);
        let trace = builder.key("nobody").list(401, 0, 7).key("sk-Key1").list(403, 0, 7).trace();
        let credentials: Vec<_> = History::new(&trace).entries.iter().map(|entry| entry.credential).collect();
        let unknown = Credential::Invalid(Defect::Unknown);
        assert_eq!(
            credentials,
            [Credential::Valid(0), Credential::Valid(0), Credential::Valid(1), unknown, Credential::Banned]
        );
    }
}
