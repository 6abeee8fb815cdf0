//! Which limiters of the family explain a history? For each member: the set of its states, exchange by exchange, where everything that
//! nobody saw (arrivals, the offset of the clocks, the end of a ban) stays open within the bounds of a zone.

mod search;
mod state;

use std::collections::BTreeSet;

use crate::history::{History, Seen};
use crate::limiter::{Cut, Failed, Failures, MALFORMED, MISSING, SECOND, Shows, Written};
use search::Search;

/// Variables of a zone. All but the offset are times by the client's clock; a time by the server's is one less `SHIFT`.
const ZERO: usize = 0;
const SHIFT: usize = 1;
const NOW: usize = 2;
/// The end of the ban, while there is one.
const BAN: usize = 3;
/// The beginning of a window from the first request, while there is one.
const START: usize = 4;
/// The first of those that hold the arrivals in a log.
const LOG: usize = 5;

/// Without a Date the clocks are known to agree so far.
pub(crate) const UNKNOWN_CLOCK: i64 = 90 * SECOND;

/// A second refusal may start a ban.
const REPEATED: u32 = 2;

/// More states than this are not followed.
const MANY: usize = 4_000;

/// Histories of more requests than this are not followed.
const LONG: usize = 50;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    Explained,
    Unexplained,
    /// There are too many states.
    Undecided,
}

/// The part of the family that may explain a history.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) members: fn(&Member) -> bool,
    pub(crate) bans: bool,
    /// Whether a day that no header shows may be exhausted.
    pub(crate) hidden_days: bool,
    /// How many requests of somebody else there may be on each key.
    pub(crate) strangers: u32,
}

/// The whole family, without traffic that nobody saw.
pub(crate) const ALL: Family = Family { members: |_| true, bans: true, hidden_days: true, strangers: 0 };

/// Whether members of the family explain the answers to every key.
pub(crate) fn explain(history: &History, family: Family) -> Verdict {
    for key in 0..2 {
        let seen: Vec<&Seen> = history.seen.iter().filter(|seen| seen.key == key).collect();
        let verdict = explain_key(&seen, history.plan, family);
        if verdict != Verdict::Explained {
            return verdict;
        }
    }
    Verdict::Explained
}

fn explain_key(seen: &[&Seen], plan: Option<(u64, u64)>, family: Family) -> Verdict {
    if seen.len() > LONG {
        return Verdict::Undecided;
    }
    let mut verdict = Verdict::Unexplained;
    for member in members(seen, plan).into_iter().filter(family.members) {
        match (Search { member, family, seen }).run() {
            Verdict::Explained => return Verdict::Explained,
            Verdict::Undecided => verdict = Verdict::Undecided,
            Verdict::Unexplained => {}
        }
    }
    if seen.is_empty() { Verdict::Explained } else { verdict }
}

/// What is fixed about a member. The figure that no header shows may be `u64::MAX`: not enforced in this history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) per_minute: u64,
    pub(crate) per_day: u64,
    pub(crate) cut: Cut,
    pub(crate) shows: Shows,
    pub(crate) written: Written,
    pub(crate) failures: Failures,
    pub(crate) counts_refusals: bool,
}

/// Every member that may matter: what the history cannot show apart is tried once.
fn members(seen: &[&Seen], plan: Option<(u64, u64)>) -> Vec<Member> {
    let limits: Option<BTreeSet<u64>> = seen
        .iter()
        .map(|seen| seen.limit.and_then(|limit| u64::try_from(limit).ok().filter(|limit| *limit > 0)))
        .collect();
    let limits: Vec<u64> = limits.unwrap_or_default().into_iter().collect();
    let refused = seen.iter().any(|seen| seen.status == 429);
    let occurs = |status| seen.iter().any(|seen| seen.status == status);
    let is_of_both = occurs(MISSING) && occurs(MALFORMED);
    // Where only one kind of failures occurs, each treatment of it is that of any failure.
    let failures = Failures::ALL.into_iter().filter(|failures| match failures {
        Failures::Count => true,
        Failures::Free(Failed::Any) | Failures::GivenBack(Failed::Any) => occurs(MISSING) || occurs(MALFORMED),
        _ => is_of_both,
    });
    let failures: Vec<Failures> = failures.collect();
    let figures: Vec<(u64, u64, Shows)> = match (limits.as_slice(), plan) {
        (&[limit], Some((minute, day))) => [(limit, day, Shows::Minute), (minute, limit, Shows::Day)]
            .into_iter()
            .filter(|figures| (figures.0, figures.1) == (minute, day))
            .collect(),
        (&[limit], None) => {
            let hidden = (1..=seen.len() as u64).filter(|_| refused).chain([u64::MAX]);
            let day = hidden.map(|minute| (minute, limit, Shows::Day));
            [(limit, u64::MAX, Shows::Minute)].into_iter().chain(day).collect()
        }
        (&[minute, day], plan) if plan.is_none_or(|plan| plan == (minute, day)) => vec![(minute, day, Shows::Fewer)],
        _ => Vec::new(),
    };
    let mut members = Vec::new();
    for (per_minute, per_day, shows) in figures {
        let mut cuts = vec![Cut::Clock, Cut::First];
        // The Reset of a minute that no header shows may be anything.
        for is_other in if shows == Shows::Day { vec![false] } else { vec![false, true] } {
            cuts.push(Cut::Log { newest: is_other });
            cuts.extend([false, true].map(|up| Cut::Weighted { up, next: is_other }));
        }
        for cut in cuts {
            for written in [Written::AfterCounting, Written::BeforeCounting, Written::OnAnswer] {
                for &failures in &failures {
                    for counts_refusals in [false, true] {
                        if refused || !counts_refusals {
                            members.push(Member {
                                per_minute,
                                per_day,
                                cut,
                                shows,
                                written,
                                failures,
                                counts_refusals,
                            });
                        }
                    }
                }
            }
        }
    }
    members
}
