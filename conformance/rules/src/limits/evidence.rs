//! Evidence: each contradiction in words, generated from its exchanges and its numbers.

use super::{Finding, Kind};
use crate::history::answered;
use crate::sentence::{Sentence, sentence};
use crate::trace::rate_limit::Window;

impl Finding<'_> {
    /// The requirement that the contradiction breaks first.
    pub fn requirement(&self) -> &'static str {
        match self.kind {
            Kind::Figure => "headers.limit-figure",
            Kind::NotCounted | Kind::Excess => "quota.every-operation",
            Kind::Rises => "headers.remaining-never-rises",
            Kind::NotRestored | Kind::ResetOff | Kind::ResetMoves => "headers.reset-time",
            Kind::OverAdmitted | Kind::Burst => "quota.not-exceeded",
            Kind::Reopened | Kind::OtherStatus => "quota.enforced",
            Kind::Early | Kind::Interrupted => "quota.not-early",
            Kind::StillLimited => "quota.recovers",
        }
    }

    /// The requirement that is broken, in words: "at most 60 requests in one window".
    pub fn expected(&self) -> Sentence {
        match self.kind {
            Kind::Figure => "a Limit that is a figure of the plan".into(),
            Kind::NotCounted => "each successful request lowers Remaining by one".into(),
            Kind::Rises => {
                sentence!("no more than {} remaining until the reset at {}", self.remaining(self.bound), self.reset())
            }
            Kind::Excess => "a Remaining that falls by the requests of this key alone".into(),
            Kind::NotRestored => "a limit that resets as announced".into(),
            Kind::OverAdmitted => sentence!("at most {} requests in one window", self.bound),
            Kind::Burst => {
                sentence!("at most {} requests within a minute, which touches two windows at most", self.bound)
            }
            Kind::Reopened | Kind::OtherStatus => "429 for every operation until the window's reset".into(),
            Kind::Early | Kind::Interrupted => "no 429 while requests remain".into(),
            Kind::StillLimited => "an answer after Retry-After and the reset have passed".into(),
            Kind::ResetOff => "the time at which the window ends".into(),
            Kind::ResetMoves => sentence!("the reset at {} that was announced", self.bound),
        }
    }

    /// The response that breaks the requirement, in words: "429 after 31 s". Empty if the finding has no exchange.
    pub fn found(&self) -> Sentence {
        let Some(first) = self.entries.first() else { return "".into() };
        match self.kind {
            Kind::Figure => sentence!("a Limit of {}", self.found),
            Kind::NotCounted => match (self.window(1), self.window(0)) {
                (Some(before), Some(after)) if before.is_same(after) => sentence!(
                    "Remaining went from {} on {} to {} on {}, after at least {} requests of the window",
                    before.remaining,
                    self.entries[1].operation.name(),
                    after.remaining,
                    first.operation.name(),
                    self.bound
                ),
                _ => sentence!("{} used, after at least {} requests of the window", self.found, self.bound),
            },
            Kind::Rises => sentence!("{} remaining before that time", self.remaining(self.found)),
            Kind::Excess => sentence!("{} used, by at most {} requests", self.found, self.bound),
            Kind::NotRestored => {
                sentence!("nothing was restored: {} used in a window that began with none", self.found)
            }
            Kind::OverAdmitted => {
                sentence!("{}, as request {} before the reset at {}", answered(first), self.found, self.reset())
            }
            Kind::Burst => sentence!("{}, as request {} within a minute", answered(first), self.found),
            Kind::Reopened => sentence!("{} after a 429", answered(first)),
            Kind::OtherStatus => sentence!("{} with nothing remaining", answered(first)),
            Kind::Early => sentence!(
                "429, although at most {} of {} were used until {}, and nobody else used them",
                self.found,
                self.bound,
                self.reset()
            ),
            Kind::Interrupted => {
                sentence!("429, although at most {} of {} were used by a later response", self.found, self.bound)
            }
            Kind::StillLimited => sentence!("429 after {} s", self.found),
            Kind::ResetOff => match self.window(1) {
                Some(before) => sentence!("a reset at {}, after one at {}", self.found, before.reset),
                None => sentence!("a reset at {}, when no window ends", self.found),
            },
            Kind::ResetMoves => sentence!("the window still runs, and its reset has moved to {}", self.found),
        }
    }

    /// Remaining, for a number of used requests.
    fn remaining(&self, used: i64) -> i64 {
        self.shown().map_or(0, |window| window.limit as i64 - used).max(0)
    }

    /// The Reset of the first reported window, as a Unix time.
    fn reset(&self) -> i64 {
        self.shown().map_or(0, |window| window.reset)
    }

    /// The first window that an exchange of the finding reports.
    fn shown(&self) -> Option<Window> {
        (0..self.entries.len()).find_map(|place| self.window(place))
    }
}
