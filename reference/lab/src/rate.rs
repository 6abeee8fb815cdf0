//! Faults that show in a share of the requests.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// A share of the requests, drawn by a seed: servers with the same options draw the same requests, if these come in the same order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(f64);

impl FromStr for Rate {
    type Err = String;

    /// Reads a number above 0 and up to 1, or a percentage, such as `0.1` or `10%`.
    fn from_str(text: &str) -> Result<Rate, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        let share = share.ok().filter(|share| *share > 0.0 && *share <= 1.0);
        share
            .map(Rate)
            .ok_or_else(|| format!("`{text}` is not a rate: it must be above 0 and at most 1, such as 0.1 or 10%"))
    }
}

impl Rate {
    /// The share, above 0 and at most 1.
    pub(crate) fn share(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The requests of a server that a fault shows in.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    rate: Rate,
    seed: u64,
    fault: String,
}

impl Draw {
    pub(crate) fn new(rate: Rate, seed: u64, fault: &str) -> Draw {
        Draw { rate, seed, fault: fault.to_owned() }
    }

    /// Returns true if the fault shows in the request of this number.
    pub(crate) fn has(&self, number: u64) -> bool {
        let numbers = [self.seed.to_be_bytes(), number.to_be_bytes()].concat();
        let digest = Sha256::new().chain_update(numbers).chain_update(&self.fault).finalize();
        let drawn = digest.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte));
        f64::from(drawn) < self.rate.0 * 2_f64.powi(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_share_or_a_percentage() {
        assert_eq!(["0.1", "10%", "1", "100%"].map(str::parse), [0.1, 0.1, 1.0, 1.0].map(|share| Ok(Rate(share))));
        for wrong in ["", "0", "0%", "-1", "1.1", "101%", "NaN", "inf", "often"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_requests_again_and_as_many_as_the_rate_says() {
        let drawn = |seed, rate| {
            let draw = Draw::new(Rate(rate), seed, "a.fault");
            (1..=10_000).filter(|number| draw.has(*number)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 0.1), drawn(1, 0.1));
        assert_ne!(drawn(1, 0.1), drawn(2, 0.1));
        assert!((900..1_100).contains(&drawn(1, 0.1).len()), "{}", drawn(1, 0.1).len());
        assert_eq!(drawn(1, 1.0).len(), 10_000);
    }
}
