//! Bans: what a key may meet after repeated requests over the limit.
//!
//! The specification lets a service ban a key that goes on after a 429, and says nothing of how a ban looks. So once a key has
//! met two refusals, a refusal that follows another need be no 429 any more: it may be the ban.

use std::collections::HashSet;

use crate::history::{Entry, History};
use crate::request::Credential;
use crate::rules::server::exceeding::{has_other_traffic, is_limited, minute_is_exhausted, sent_between};

/// So many requests over the limit are repeated ones.
pub(crate) const REPEATED: usize = 2;

/// Marks the answers to keys that may have been banned.
pub(crate) fn mark(entries: &mut [Entry<'_>], keys: usize) {
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

/// The numbers of the refusals that may tell of a ban, whose end may lie anywhere.
///
/// Those of a key that may not be its first: when a ban comes, and what else comes in between, is the service's choice; of refusals
/// at the same time, any may have been the later one. And the first as well, unless the run's own requests explain it: somebody
/// else, or a run before, may have gone on with the key.
pub(crate) fn possible_bans(history: &History<'_>) -> HashSet<usize> {
    let mut numbers = HashSet::new();
    for key in history.keys() {
        let refusals = || history.entries.iter().filter(|entry| entry.key() == Some(key) && is_limited(entry));
        let is_first = |entry: &Entry<'_>| refusals().all(|other| std::ptr::eq(entry, other) || entry.precedes(other));
        let may_be = |entry: &&Entry<'_>| !is_first(entry) || !is_own_doing(history, key, entry);
        numbers.extend(refusals().filter(may_be).map(|entry| entry.exchange.number));
    }
    numbers
}

/// Whether this run's own requests had used up what its answers told it remained, when this one was refused.
fn is_own_doing(history: &History<'_>, key: usize, limited: &Entry<'_>) -> bool {
    let with_rate_limit = history.with_rate_limit(key);
    let Some((before, window)) = with_rate_limit.iter().rev().find(|(entry, _)| entry.precedes(limited)) else {
        return false;
    };
    let now = limited.server_time().unwrap_or(limited.exchange.received_at).as_second();
    let minute = || history.plan_limits(key).is_some() && minute_is_exhausted(history, key, limited, *window);
    let used_up = window.remaining <= sent_between(history, before, limited) || minute();
    used_up && now <= window.reset && !has_other_traffic(history, key)
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
    fn refusals_that_the_run_has_not_earned_may_be_bans() {
        const NONE: [usize; 0] = [];
        let possible = |builder: TraceBuilder| {
            let trace = builder.trace();
            let mut numbers: Vec<usize> = possible_bans(&History::new(&trace)).into_iter().collect();
            numbers.sort_unstable();
            numbers
        };
        let told = |answers: &[(u16, u64)]| possible(TraceBuilder::new().lists(7, answers));
        assert_eq!(told(&[(429, 0), (200, 6)]), [1], "a run before");
        assert_eq!(told(&[(200, 2), (429, 0)]), [2], "somebody else");
        assert_eq!(told(&[(200, 1), (429, 0)]), NONE, "told before it was counted");
        assert_eq!(told(&[(200, 0), (429, 0), (404, 0), (429, 0)]), [4], "not the first");
        assert_eq!(told(&[(200, 6), (200, 2), (200, 1), (200, 0), (429, 0)]), [5], "there is somebody else");
        let later = |seconds| TraceBuilder::new().list(200, 0, 7).wait(seconds).list(429, 0, 7);
        assert_eq!(possible(later(59)), NONE);
        assert_eq!(possible(later(61)), [2], "the window is over");
        assert_eq!(possible(later(59).dateless()), NONE);
        assert_eq!(possible(later(61).dateless()), [2]);
        assert_eq!(possible(TraceBuilder::new().list(429, 0, 7).list(429, 0, 7).together(1..=2)), [1, 2]);
        assert_eq!(
            possible(TraceBuilder::new().list(200, 0, 7).key("sk-Other").list(429, 0, 7)),
            [2],
            "each key by itself"
        );
        assert_eq!(possible(TraceBuilder::new().key("nobody").list(429, 0, 7)), NONE, "no key is no ban");
    }

    #[test]
    fn a_minute_that_the_headers_do_not_tell_may_be_used_up_by_the_run_alone() {
        let mut used_up = TraceBuilder::new().lists(1_000, &[(200, 900)]);
        used_up = (0..60).fold(used_up, |builder, used| builder.list(200, 899 - used, 1_000));
        let possible = |builder: TraceBuilder| {
            let mut trace = builder.window(40_000).list(429, 839, 1_000).trace();
            trace.context.plan_limits = Some(crate::catalogue::plan::PlanLimits { per_minute: 60, per_day: 1_000 });
            possible_bans(&History::new(&trace)).len()
        };
        assert_eq!(possible(used_up), 0);
        assert_eq!(possible(TraceBuilder::new().lists(1_000, &[(200, 900), (200, 899)])), 1);
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
