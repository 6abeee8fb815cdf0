//! Bans: what a key may meet after repeated requests over the limit.
//!
//! The specification lets a service ban a key that goes on after a 429, and says nothing of how a ban looks. So once a key has
//! met two refusals, a refusal that follows another need be no 429 any more: it may be the ban.

use super::Entry;
use crate::request::Credential;

/// So many requests over the limit are repeated ones.
pub(crate) const REPEATED: usize = 2;

/// Marks the answers to keys that may have been banned, by the sequence of statuses alone.
pub(super) fn mark(entries: &mut [Entry<'_>], keys: usize) {
    for key in 0..keys {
        let (mut limited, mut refused) = (0, false);
        for entry in entries.iter_mut().filter(|entry| entry.key() == Some(key)) {
            match entry.status() {
                Some(429) => {
                    limited += 1;
                    refused = true;
                }
                Some(401 | 403) if refused && limited >= REPEATED => entry.credential = Credential::Banned,
                _ => refused = false,
            }
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
