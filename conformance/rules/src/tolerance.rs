//! Tolerances: deviations of clocks, rounding and replicas that break no rule, each defined once.
//!
//! Nothing is imported here, so that the history of a trace, the facts about its limits, the rules and the probes can all use
//! this one table.

use std::time::Duration;

use jiff::SignedDuration;

/// A length of time that judgements allow for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Tolerance(SignedDuration);

impl Tolerance {
    /// The shorter of the two windows that plans name.
    pub const MINUTE: Tolerance = Tolerance::of_secs(60);

    /// The longer of the two windows that plans name.
    pub const DAY: Tolerance = Tolerance::of_secs(86_400);

    /// `Date` and Reset are whole seconds, and a `Date` may be stamped a moment before or after the other headers.
    pub const CLOCK_SLACK: Tolerance = Tolerance::of_secs(2);

    /// A server that derives the end of a window from what is left of it may round now up and now down: two ends this close to each
    /// other are one. No two windows end so close to each other.
    pub const ROUNDING: Tolerance = Tolerance::of_secs(2);

    /// The furthest ahead that the end of a minute lies, by clocks of whole seconds. A Reset beyond it is that of a day.
    pub const LONGEST_MINUTE: Tolerance = Tolerance::MINUTE.plus(Tolerance::CLOCK_SLACK);

    /// In a pause longer than this, other traffic on the key would leave no trace in the run's own answers.
    pub const UNSEEN: Tolerance = Tolerance::of_secs(1);

    /// How long a request is certain to stay in a log of the last minute.
    pub const KEPT: Tolerance = Tolerance::MINUTE.minus(Tolerance::CLOCK_SLACK);

    /// After this long a request is certain to have dropped out of a log of the last minute, where the log has whole seconds.
    pub const NO_LONGER_KEPT: Tolerance = Tolerance::of_secs(61);

    /// The longest that the first 429 of a window can ask for: the rest of a day, and a minute for clocks that disagree.
    pub const LONGEST_FIRST_WAIT: Tolerance = Tolerance::DAY.plus(Tolerance::MINUTE);

    /// Beyond an announced time, which is in whole seconds: whoever waits for it asks again a second later.
    pub const ANNOUNCED_MARGIN: Tolerance = Tolerance::of_secs(1);

    /// By how much a `Retry-After` may ask for a longer wait than needed.
    pub const LONGER_WAIT: Tolerance = Tolerance::of_secs(5);

    /// Reads may lag a write by a moment. This is the moment: past it, what was created must be seen.
    pub const READ_LAG: Tolerance = Tolerance::of_secs(5);

    /// The least time for which an animal has a status that somebody gives it. One that comes and goes in less differs between reads.
    pub const SHORTEST_STATUS: Tolerance = Tolerance::of_secs(3);

    /// A client may send so much before the time that `Retry-After` gives: for the wire, and for clocks of whole seconds. A response on
    /// one of its connections is known on its others after as long: requests may have been on their way out meanwhile.
    pub const CLIENT_SLACK: Tolerance = Tolerance::of_secs(1);

    /// A client with several connections may give one to another of its tasks before the task that received a response on it has
    /// told the others. After this long it has.
    pub const HANDOVER: Tolerance = Tolerance(SignedDuration::from_millis(250));

    /// A wait shorter than this is none: threads are scheduled, and networks delay, by as much.
    pub const SHORTEST_WAIT: Tolerance = Tolerance(SignedDuration::from_millis(50));

    const fn of_secs(seconds: i64) -> Tolerance {
        Tolerance(SignedDuration::from_secs(seconds))
    }

    const fn plus(self, other: Tolerance) -> Tolerance {
        Tolerance::of_secs(self.seconds() + other.seconds())
    }

    const fn minus(self, other: Tolerance) -> Tolerance {
        Tolerance::of_secs(self.seconds() - other.seconds())
    }

    /// To compare times with.
    #[must_use]
    pub const fn duration(self) -> SignedDuration {
        self.0
    }

    /// The whole seconds, to compare header fields with.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.as_secs()
    }

    /// To wait for.
    #[must_use]
    pub const fn unsigned(self) -> Duration {
        self.0.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_in_a_row_are_never_taken_for_one() {
        assert!(Tolerance::ROUNDING < Tolerance::KEPT);
        assert!(Tolerance::LONGEST_MINUTE < Tolerance::DAY);
        assert!(Tolerance::KEPT < Tolerance::MINUTE && Tolerance::MINUTE < Tolerance::NO_LONGER_KEPT);
    }

    #[test]
    fn a_tolerance_is_the_same_in_every_unit() {
        let day = Tolerance::DAY;
        assert_eq!((day.seconds(), day.duration().as_secs(), day.unsigned().as_secs()), (86_400, 86_400, 86_400));
    }
}
