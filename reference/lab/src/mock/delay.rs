//! Delayed responses.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest delay, in milliseconds: an hour.
const LONGEST: u64 = 3_600_000;

/// How long answers take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayRange {
    from: u64,
    to: u64,
}

impl FromStr for DelayRange {
    type Err = String;

    /// Reads `MS` or `MS..MS`, of which both ends are possible.
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
#[derive(Debug)]
pub struct Delay {
    range: DelayRange,
    seed: u64,
    random: Mutex<fastrand::Rng>,
}

impl Delay {
    /// Delays of this range, drawn uniformly.
    #[must_use]
    pub fn new(range: DelayRange, seed: u64) -> Self {
        Self { range, seed, random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// The delay of the next answer.
    #[must_use]
    pub fn next(&self) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_millis(random.u64(self.range.from..=self.range.to))
    }

    /// Begins with the first delay again.
    pub fn restart(&self) {
        *self.random.lock().unwrap_or_else(PoisonError::into_inner) = fastrand::Rng::with_seed(self.seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_one_number_of_milliseconds_or_two() {
        assert_eq!("250".parse(), Ok(DelayRange { from: 250, to: 250 }));
        assert_eq!("0..3600000".parse(), Ok(DelayRange { from: 0, to: LONGEST }));
        for wrong in ["", "..", "1..", "..1", "-1", "1.5", "2..1", "3600001", "1ms", "1..2..3"] {
            assert!(wrong.parse::<DelayRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_delays_again_and_every_one_within_the_range() {
        let drawn = |seed| {
            let delay = Delay::new(DelayRange { from: 5, to: 7 }, seed);
            let first: Vec<Duration> = (0..100).map(|_| delay.next()).collect();
            delay.restart();
            assert_eq!(first, (0..100).map(|_| delay.next()).collect::<Vec<_>>());
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
