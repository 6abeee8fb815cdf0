//! Promises: how many more requests the responses of a window announced, and how many of those this run may have used since.

use super::key::{Answer, KeyLimits};
use crate::history::Entry;
use crate::request::Operation;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::RateHeaders;

/// A refusal that can be held against what was promised before it.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'h> {
    /// The refusal.
    pub limited: Answer<'h>,
    /// The last answer that was complete before it was sent.
    pub before: Answer<'h>,
    /// Whether more was promised than this run and others can have used.
    pub is_early: bool,
}

impl<'h> KeyLimits<'h> {
    /// The refusals that the answers before them say something about: not those after which a ban may have come, nor those after a
    /// pause, in which others may have used what remained.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal<'h>> {
        // Reported before counting, the last admitted request shows 1.
        let last = u64::from(!self.counts_first());
        self.answers().iter().filter(|answer| answer.entry.is_limited()).filter_map(move |&limited| {
            let before = *self.answers().iter().rev().find(|answer| answer.precedes(&limited))?;
            let pause = limited.entry.exchange.sent_at.duration_since(before.entry.exchange.received_at);
            // After a first 429 a ban may follow, whatever remains.
            if before.entry.is_limited() || pause > Tolerance::UNSEEN.duration() || self.waits_for_more(&limited) {
                return None;
            }
            let promised = self.least_promised(&limited) > last + self.used_meanwhile(&limited, &before);
            let by_others = || self.has_other_traffic() || self.minute_may_be_exhausted(limited.entry, limited.window);
            Some(Refusal { limited, before, is_early: promised && !by_others() })
        })
    }

    /// The least that answers of the same window promised before a request was sent.
    fn least_promised(&self, limited: &Answer<'_>) -> u64 {
        let promising = |answer: &&Answer<'_>| {
            answer.precedes(limited) && !answer.entry.is_limited() && answer.window.is_same(limited.window)
        };
        self.answers().iter().filter(promising).map(|answer| answer.window.remaining).min().unwrap_or(0)
    }

    /// How many of this run's own requests may have used some of what was promised.
    fn used_meanwhile(&self, limited: &Answer<'_>, before: &Answer<'_>) -> u64 {
        let answers = self.answers();
        // Those that were under way at the same time, the refused one among them.
        let meanwhile = answers.iter().filter(|answer| !answer.precedes(limited) && !limited.precedes(answer)).count();
        // And those since the last answer that reported this window, whose own answers report nothing or another one: to no
        // operation, or with an ambiguous credential; and those without a key, where the same window is reported to them, because
        // callers are distinguished by their address.
        let of_this_window = |answer: &&Answer<'_>| answer.window.is_same(limited.window) && answer.precedes(limited);
        let last = answers.iter().rev().find(of_this_window).unwrap_or(before);
        let since = last.entry.exchange.number..limited.entry.exchange.number.saturating_sub(1);
        let unreported = |entry: &&Entry<'_>| {
            let window = entry.rate.as_ref().and_then(RateHeaders::window);
            let is_reported = entry.key() == Some(self.index)
                && entry.operation != Operation::Elsewhere
                && window.is_some_and(|window| window.is_same(limited.window));
            self.may_count(entry, limited.window) && !is_reported
        };
        let unreported = self.history.entries.get(since).unwrap_or_default().iter().filter(unreported).count();
        (meanwhile + unreported).saturating_sub(1) as u64
    }
}
