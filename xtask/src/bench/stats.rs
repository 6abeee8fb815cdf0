//! Medians and ranges of a few noisy rounds.

/// The middle and the range of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    /// Summarises every one of `values`; none when there are none.
    pub(crate) fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        Some(Summary { median, min, max })
    }

    /// Summarises the ratios of the rounds, each within its own round: what slows a whole round slows both sides of it.
    pub(crate) fn of_ratios(rounds: &[(f64, f64)]) -> Option<Summary> {
        let ratios: Vec<f64> = rounds.iter().map(|(subject, yardstick)| subject / yardstick).collect();
        Summary::of(&ratios)
    }

    /// The summary as `median (min–max)`, each number written by `show`.
    pub(crate) fn show(&self, show: impl Fn(f64) -> String) -> String {
        format!("{} ({}–{})", show(self.median), show(self.min), show(self.max))
    }
}

/// What a figure must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// This much or more.
    AtLeast(f64),
    /// Less than this much.
    Below(f64),
    /// The figure is reported for its own sake.
    None,
}

impl Bound {
    /// Whether `figure` keeps the bound.
    pub(crate) fn holds(self, figure: f64) -> bool {
        match self {
            Bound::AtLeast(least) => figure >= least,
            Bound::Below(limit) => figure < limit,
            Bound::None => true,
        }
    }

    /// The bound in words, its number written by `show`.
    pub(crate) fn show(self, show: impl Fn(f64) -> String) -> String {
        match self {
            Bound::AtLeast(least) => format!("≥ {}", show(least)),
            Bound::Below(limit) => format!("< {}", show(limit)),
            Bound::None => "none".to_owned(),
        }
    }
}

/// The value that the share `part` of `sorted` does not exceed (0.99 for the 99th percentile); 0 when there is none.
pub(crate) fn percentile(sorted: &[u32], part: f64) -> u32 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one() {
        let summary = Summary::of(&[9.0, 1.0, 4.0]).expect("three values");
        assert_eq!(summary, Summary { median: 4.0, min: 1.0, max: 9.0 });
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 9.0]).expect("four values").median, 3.0);
    }

    #[test]
    fn nothing_measured_is_no_summary() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of_ratios(&[]), None);
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        // The second round ran at half speed: the ratios agree all the same.
        let summary = Summary::of_ratios(&[(80.0, 100.0), (40.0, 50.0), (79.0, 100.0)]).expect("three rounds");
        assert_eq!(summary.median, 0.8);
        assert_eq!(summary.min, 0.79);
    }

    #[test]
    fn bounds_hold_at_their_edges_as_they_are_worded() {
        assert!(Bound::AtLeast(0.8).holds(0.8));
        assert!(!Bound::AtLeast(0.8).holds(0.799));
        assert!(!Bound::Below(2.0).holds(2.0));
        assert!(Bound::Below(2.0).holds(1.99));
        assert!(Bound::None.holds(0.0));
    }

    #[test]
    fn percentiles_name_a_value_that_was_measured() {
        let sorted: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&sorted, 0.5), 50);
        assert_eq!(percentile(&sorted, 0.99), 99);
        assert_eq!(percentile(&sorted, 1.0), 100);
        assert_eq!(percentile(&[], 0.5), 0);
    }
}
