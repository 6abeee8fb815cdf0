//! Rounds in which the sides of a comparison take turns, so that other load on the machine affects all of them alike.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::Session;
use super::machine;
use super::stats::{Bound, Summary};
use super::table::{Row, Unit};

/// How long a side runs before it is another's turn.
const TURN: Duration = Duration::from_millis(250);

/// What one side did in one turn or one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// How many times it was done.
    pub(crate) count: u64,
    /// How long that took.
    pub(crate) elapsed: Duration,
    /// How much of a core the server spent on it.
    pub(crate) server: Duration,
    /// How much of a core the load generator spent on it.
    pub(crate) load: Duration,
}

impl Sample {
    fn add(&mut self, other: Sample) {
        self.count += other.count;
        self.elapsed += other.elapsed;
        self.server += other.server;
        self.load += other.load;
    }

    /// How many a second.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }

    /// How many for each second that the server was at work.
    pub(crate) fn rate_at_work(&self) -> f64 {
        self.count as f64 / self.server.as_secs_f64()
    }

    /// The share of a core that the server used.
    pub(crate) fn server_share(&self) -> f64 {
        self.server.as_secs_f64() / self.elapsed.as_secs_f64()
    }

    /// The share of a core that the load generator used.
    pub(crate) fn load_share(&self) -> f64 {
        self.load.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

/// One side of a comparison: runs for a while and says what it did.
pub(crate) type Side<'a> = &'a mut dyn FnMut(Duration) -> anyhow::Result<Sample>;

/// The rounds of a comparison.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Each with a sample of every side.
    samples: Vec<Vec<Sample>>,
    /// Which share of the machine's cores other programs took meanwhile.
    others: f64,
}

impl Rounds {
    /// Lets the sides take turns. No side is always the first: a drift of the machine must favour none.
    pub(crate) fn measure(session: &Session, sides: &mut [Side<'_>]) -> anyhow::Result<Rounds> {
        let (start, busy_before) = (Instant::now(), machine::all_work());
        let (mut samples, mut own_work) = (Vec::new(), Duration::ZERO);
        for number in 0..=session.rounds {
            let mut round = vec![Sample::default(); sides.len()];
            let mut turn = number as usize;
            while round.iter().any(|sample| sample.elapsed < session.round) {
                for place in 0..sides.len() {
                    let side = (turn + place) % sides.len();
                    round[side].add(sides[side](TURN)?);
                }
                turn += 1;
            }
            own_work += round.iter().map(|sample| sample.server + sample.load).sum::<Duration>();
            // The first round warms up what is cold.
            if number > 0 {
                samples.push(round);
            }
        }
        let all_work = machine::all_work().saturating_sub(busy_before);
        let capacity = start.elapsed().as_secs_f64() * session.machine.cores() as f64;
        Ok(Rounds { samples, others: all_work.saturating_sub(own_work).as_secs_f64() / capacity })
    }

    /// Something about one side, over all rounds.
    pub(crate) fn side(&self, side: usize, pick: fn(&Sample) -> f64) -> anyhow::Result<Summary> {
        let values: Vec<f64> = self.samples.iter().map(|round| pick(&round[side])).collect();
        Summary::of(&values).context("no round was measured")
    }

    /// Something about the first side over the same about another, each within its round.
    pub(crate) fn ratio(&self, yardstick: usize, pick: fn(&Sample) -> f64) -> anyhow::Result<Summary> {
        let pairs: Vec<(f64, f64)> =
            self.samples.iter().map(|round| (pick(&round[0]), pick(&round[yardstick]))).collect();
        Summary::of_ratios(&pairs).context("no round was measured")
    }

    /// What to make of the figures when the machine was not left alone.
    pub(crate) fn others_note(&self) -> String {
        format!("other programs took {:.0} % of the machine meanwhile", self.others * 100.0)
    }

    /// The row that compares the rates of the first side and of another.
    pub(crate) fn row(&self, yardstick: usize, what: String, bound: Bound, notes: Vec<String>) -> anyhow::Result<Row> {
        Ok(Row {
            what,
            measured: Some((self.side(0, Sample::rate)?, self.side(yardstick, Sample::rate)?)),
            figure: self.ratio(yardstick, Sample::rate)?,
            unit: Unit::Ratio,
            bound,
            notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u64) -> Sample {
        let (elapsed, server, load) = (Duration::from_secs(2), Duration::from_secs(1), Duration::from_millis(500));
        Sample { count, elapsed, server, load }
    }

    #[test]
    fn a_sample_reports_rates_and_shares() {
        let mut sample = sample(50);
        sample.add(super::tests::sample(150));
        assert_eq!(sample.rate(), 50.0);
        assert_eq!(sample.rate_at_work(), 100.0);
        assert_eq!(sample.server_share(), 0.5);
        assert_eq!(sample.load_share(), 0.25);
    }

    #[test]
    fn a_ratio_compares_the_first_side_with_the_one_named() {
        let samples = vec![vec![sample(80), sample(100), sample(40)], vec![sample(40), sample(50), sample(20)]];
        let rounds = Rounds { samples, others: 0.0 };
        assert_eq!(rounds.ratio(1, Sample::rate).expect("two rounds").median, 0.8);
        assert_eq!(rounds.ratio(2, Sample::rate).expect("two rounds").median, 2.0);
    }
}
