//! Bans of keys after repeated requests over the limit.
//!
//! The specification lets a service ban a key that keeps sending requests after a 429, and does not say which status code a ban has. So
//! once a key has been refused twice, a further refusal may be a 401 or a 403.

use super::Entry;
use crate::request::Credential;

/// From this number of 429 responses on, requests over the limit are repeated ones, and a ban is lawful.
pub(crate) const REPEATED: usize = 2;

/// Marks the responses with 401 or 403 that may be bans, by their status codes alone. See [`may_be_ban`].
pub(super) fn mark(entries: &mut [Entry<'_>], keys: usize) {
    for key in 0..keys {
        let of_key: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].key() == Some(key)).collect();
        let mut banned: Vec<usize> = Vec::new();
        for &at in &of_key {
            if matches!(entries[at].status(), Some(401 | 403)) && may_be_ban(at, entries, &of_key, &banned) {
                banned.push(at);
            }
        }
        banned.into_iter().for_each(|at| entries[at].credential = Credential::Banned);
    }
}

/// Whether the refusal at an index may be a ban of its key: at least [`REPEATED`] responses with 429 came before it or at the same time,
/// and it came right after a refusal or at the same time as a 429. Requests at the same time may have been dealt with in any order.
/// `of_key` holds the indices of the key's entries, `banned` those of its earlier bans.
fn may_be_ban(at: usize, entries: &[Entry<'_>], of_key: &[usize], banned: &[usize]) -> bool {
    let refused = &entries[at];
    let is_refusal = |index: usize| entries[index].status() == Some(429) || banned.contains(&index);
    let (mut limited, mut is_adjacent) = (0, false);
    for &index in of_key {
        let earlier = &entries[index];
        if refused.precedes(earlier) {
            continue;
        }
        let is_limited = earlier.status() == Some(429);
        limited += usize::from(is_limited);
        if !earlier.precedes(refused) {
            is_adjacent |= is_limited;
        } else if !is_adjacent && is_refusal(index) {
            // No other answer came in between.
            is_adjacent = !of_key.iter().any(|between| {
                let entry = &entries[*between];
                earlier.precedes(entry) && entry.precedes(refused) && !is_refusal(*between)
            });
        }
    }
    limited >= REPEATED && is_adjacent
}

/// Status codes about the transmission of a request, lawful for any request: too long a wait for it, too large a target or header
/// section, an expectation, the wrong connection, another protocol.
const OF_TRANSMISSION: [u16; 7] = [408, 414, 417, 421, 425, 426, 431];

/// Marks the responses of a sample that are lawful for any request. Keys may have been banned for requests that the sample does not
/// contain, or revoked; clients without a key may have exhausted an allowance of their own.
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
    use crate::tests::TraceBuilder;

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
