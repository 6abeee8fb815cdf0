//! Delayed responses.

use std::{fmt, str::FromStr, sync::Mutex, time::Duration};

use crate::state::lock;

/// The longest delay, in milliseconds: an hour.
pub(super) const LONGEST: u64 = 3_600_000;

/// The range of the delays of answers, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayRange {
    from: u64,
    to: u64,
}

impl fmt::Display for DelayRange {
    /// Writes the form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to { self.from.fmt(f) } else { write!(f, "{}..{}", self.from, self.to) }
    }
}

impl FromStr for DelayRange {
    type Err = String;

    /// Parses `MS` or `MS..MS`; both ends of the range are included.
    fn from_str(text: &str) -> Result<Self, String> {
        let milliseconds = |text: &str| text.parse().ok().filter(|time| *time <= LONGEST);
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        match (milliseconds(from), milliseconds(to)) {
            (Some(from), Some(to)) if from <= to => Ok(Self { from, to }),
            (Some(_), Some(_)) => Err("the first number is larger than the second".to_owned()),
            _ => Err(format!("it must be milliseconds, such as 250 or 100..800, at most {LONGEST}")),
        }
    }
}

/// A source of delays: the same ones in the same order for the same seed.
#[derive(Debug, Default)]
pub(crate) struct Delay {
    start: Option<DelayRange>,
    seed: u64,
    drawn: Mutex<Drawn>,
}

#[derive(Debug, Default)]
struct Drawn {
    range: Option<DelayRange>,
    random: fastrand::Rng,
}

impl Delay {
    /// Delays of this range, drawn uniformly; none without a range.
    pub(crate) fn new(range: Option<DelayRange>, seed: u64) -> Self {
        let drawn = Drawn { range, random: fastrand::Rng::with_seed(seed) };
        Self { start: range, seed, drawn: Mutex::new(drawn) }
    }

    /// The delay of the next answer, if there is one.
    pub(crate) fn next(&self) -> Option<Duration> {
        let mut drawn = lock(&self.drawn);
        let DelayRange { from, to } = drawn.range?;
        Some(Duration::from_millis(drawn.random.u64(from..=to)))
    }

    /// The range at present.
    pub(crate) fn range(&self) -> Option<DelayRange> {
        lock(&self.drawn).range
    }

    /// Delays of another range from now on.
    pub(crate) fn set(&self, range: Option<DelayRange>) {
        lock(&self.drawn).range = range;
    }

    /// Begins with the first delay of the first range again.
    pub(crate) fn restart(&self) {
        *lock(&self.drawn) = Drawn { range: self.start, random: fastrand::Rng::with_seed(self.seed) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_one_number_of_milliseconds_or_two() {
        assert_eq!("250".parse(), Ok(DelayRange { from: 250, to: 250 }));
        assert_eq!("0..3600000".parse(), Ok(DelayRange { from: 0, to: LONGEST }));
        for text in ["250", "100..800"] {
            assert_eq!(text.parse().map(|range: DelayRange| range.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "..", "1..", "..1", "-1", "1.5", "2..1", "3600001", "1ms", "1..2..3"] {
            assert!(wrong.parse::<DelayRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_delays_again_and_every_one_within_the_range() {
        let drawn = |seed| {
            let delay = Delay::new(Some(DelayRange { from: 5, to: 7 }), seed);
            let first: Vec<Duration> = (0..100).filter_map(|_| delay.next()).collect();
            delay.set(None);
            assert_eq!(delay.next(), None);
            delay.restart();
            assert_eq!(first, (0..100).filter_map(|_| delay.next()).collect::<Vec<_>>());
            first
        };
        let (first, second, other) = (drawn(1), drawn(1), drawn(2));
        assert!(first == second && first != other);
        for milliseconds in 5..=7 {
            assert!(first.contains(&Duration::from_millis(milliseconds)), "{milliseconds}");
        }
        assert!(first.iter().all(|delay| (5..=7).contains(&delay.as_millis())));
    }
}
