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

    /// The slack for whole seconds: `Date` and Reset have no fraction, and a `Date` may be stamped a moment before or after the
    /// other header fields.
    pub const CLOCK_SLACK: Tolerance = Tolerance::of_secs(2);

    /// The largest difference of two Resets of one window. A server that derives the end of a window from what is left of it may
    /// round now up and now down. No two windows end so close to each other.
    pub const ROUNDING: Tolerance = Tolerance::of_secs(2);

    /// The longest time from a response to the end of its minute, by clocks of whole seconds. A Reset beyond it is that of a day.
    pub const LONGEST_MINUTE: Tolerance =
        Tolerance::of_secs(Tolerance::MINUTE.seconds() + Tolerance::CLOCK_SLACK.seconds());

    /// The longest pause in which other traffic on the key leaves a trace in the run's own responses.
    pub const UNSEEN: Tolerance = Tolerance::of_secs(1);

    /// The time for which a request certainly stays in a log of the last minute.
    pub const KEPT: Tolerance = Tolerance::of_secs(Tolerance::MINUTE.seconds() - Tolerance::CLOCK_SLACK.seconds());

    /// The time after which a request has certainly left a log of the last minute, if the log has whole seconds.
    pub const NO_LONGER_KEPT: Tolerance = Tolerance::of_secs(61);

    /// The margin after an announced time, which is in whole seconds, before the next request is sent.
    pub const ANNOUNCED_MARGIN: Tolerance = Tolerance::of_secs(1);

    /// The largest difference between the wait that a `Retry-After` asks for and the wait that is needed.
    pub const LONGER_WAIT: Tolerance = Tolerance::of_secs(5);

    /// The longest time for which reads may lag behind a write. After it, a created animal must be visible.
    pub const READ_LAG: Tolerance = Tolerance::of_secs(5);

    /// The least time for which an animal keeps a status that a client gives it. A shorter change is taken for a difference between
    /// reads.
    pub const SHORTEST_STATUS: Tolerance = Tolerance::of_secs(3);

    /// The time by which a client may send before a `Retry-After` ends: for the wire, and for clocks of whole seconds. A response
    /// on one of its connections is known on the others after as long: requests may have been on their way out meanwhile.
    pub const CLIENT_SLACK: Tolerance = Tolerance::of_secs(1);

    /// The time after which a task that received a response has told the other tasks of its client. Before, a pool may give the
    /// connection to another task.
    pub const HANDOVER: Tolerance = Tolerance(SignedDuration::from_millis(250));

    /// The shortest wait that counts as one: schedulers and networks delay requests by as much.
    pub const SHORTEST_WAIT: Tolerance = Tolerance(SignedDuration::from_millis(50));

    const fn of_secs(seconds: i64) -> Tolerance {
        Tolerance(SignedDuration::from_secs(seconds))
    }

    /// The signed duration, to compare times with.
    pub const fn duration(self) -> SignedDuration {
        self.0
    }

    /// The whole seconds, to compare header fields with.
    pub const fn seconds(self) -> i64 {
        self.0.as_secs()
    }

    /// The unsigned duration, to wait for.
    pub const fn unsigned(self) -> Duration {
        self.0.unsigned_abs()
    }
}
