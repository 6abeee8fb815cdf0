//! Evidence: each contradiction in words, generated from its exchanges and its numbers.

use super::{Finding, Kind};
use crate::history::answered;
use crate::trace::rate_limit::Window;

impl Finding<'_> {
    /// The requirement that is broken, in words: "at most 60 requests in one window".
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Figure => "a Limit that is a figure of the plan".to_owned(),
            Kind::NotCounted => "each successful request lowers Remaining by one".to_owned(),
            Kind::Rises => {
                format!("no more than {} remaining until the reset at {}", self.remaining(self.bound), self.reset())
            }
            Kind::Excess => "a Remaining that falls by the requests of this key alone".to_owned(),
            Kind::NotRestored => "a limit that resets as announced".to_owned(),
            Kind::OverAdmitted => format!("at most {} requests in one window", self.bound),
            Kind::Burst => {
                format!("at most {} requests within a minute, which touches two windows at most", self.bound)
            }
            Kind::Reopened | Kind::OtherStatus => "429 for every operation until the window's reset".to_owned(),
            Kind::Early | Kind::Interrupted => "no 429 while requests remain".to_owned(),
            Kind::StillLimited => "an answer after Retry-After and the reset have passed".to_owned(),
            Kind::ResetOff => "the time at which the window ends".to_owned(),
            Kind::ResetMoves => format!("the reset at {} that was announced", self.bound),
        }
    }

    /// The response that breaks the requirement, in words: "429 after 31 s". Empty if the finding has no exchange.
    #[must_use]
    pub fn found(&self) -> String {
        let Some(first) = self.entries.first() else { return String::new() };
        match self.kind {
            Kind::Figure => format!("a Limit of {}", self.found),
            Kind::NotCounted => match (self.window(1), self.window(0)) {
                (Some(before), Some(after)) if before.is_same(after) => format!(
                    "Remaining went from {} on {} to {} on {}, after at least {} requests of the window",
                    before.remaining,
                    self.entries[1].operation.name(),
                    after.remaining,
                    first.operation.name(),
                    self.bound
                ),
                _ => format!("{} used, after at least {} requests of the window", self.found, self.bound),
            },
            Kind::Rises => format!("{} remaining before that time", self.remaining(self.found)),
            Kind::Excess => format!("{} used, by at most {} requests", self.found, self.bound),
            Kind::NotRestored => {
                format!("nothing was restored: {} used in a window that began with none", self.found)
            }
            Kind::OverAdmitted => {
                format!("{}, as request {} before the reset at {}", answered(first), self.found, self.reset())
            }
            Kind::Burst => format!("{}, as request {} within a minute", answered(first), self.found),
            Kind::Reopened => format!("{} after a 429", answered(first)),
            Kind::OtherStatus => format!("{} with nothing remaining", answered(first)),
            Kind::Early => format!(
                "429, although at most {} of {} were used until {}, and nobody else used them",
                self.found,
                self.bound,
                self.reset()
            ),
            Kind::Interrupted => {
                format!("429, although at most {} of {} were used by a later response", self.found, self.bound)
            }
            Kind::StillLimited => format!("429 after {} s", self.found),
            Kind::ResetOff => match self.window(1) {
                Some(before) => format!("a reset at {}, after one at {}", self.found, before.reset),
                None => format!("a reset at {}, when no window ends", self.found),
            },
            Kind::ResetMoves => format!("the window still runs, and its reset has moved to {}", self.found),
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
