//! When the clock of a server of the laboratory starts.

use anyhow::{Context, ensure};

/// The time at which the clock of a server starts, on the first day of the laboratory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Start {
    /// At this second of the day.
    At(u32),
    /// At the second of the minute after noon that the seed of the run chooses.
    OfSeed,
}

const NOON: u32 = 12 * 3_600;

/// Parses the value of `--start-at`.
pub(super) fn parse(text: &str) -> anyhow::Result<Start> {
    if text == "seed" {
        return Ok(Start::OfSeed);
    }
    let parts: Vec<u32> = text.split(':').map(str::parse).collect::<Result<_, _>>().context("not a time of day")?;
    ensure!(parts.iter().skip(1).all(|part| *part < 60), "minutes and seconds end at 59");
    match parts[..] {
        [second] if second < 60 => Ok(Start::At(NOON + second)),
        [hour, minute, second] if hour < 24 => Ok(Start::At(hour * 3_600 + minute * 60 + second)),
        _ => anyhow::bail!("neither a second of the minute (6) nor a time of day (23:59:30)"),
    }
}

impl Start {
    /// The time at which the run of a seed starts.
    pub(super) fn time(self, seed: u64) -> String {
        let second = match self {
            Start::At(second) => second,
            Start::OfSeed => NOON + (seed % 60) as u32,
        };
        format!("2026-06-01T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_second_of_the_minute_or_a_time_of_day() {
        let time = |text| parse(text).map(|start| start.time(67)).map_err(drop);
        assert_eq!(time("6"), Ok("2026-06-01T12:00:06Z".to_owned()));
        assert_eq!(time("23:59:30"), Ok("2026-06-01T23:59:30Z".to_owned()));
        assert_eq!(time("seed"), Ok("2026-06-01T12:00:07Z".to_owned()));
        for text in ["", "60", "24:00:00", "23:60:00", "12:00", "noon"] {
            assert_eq!(time(text), Err(()), "{text}");
        }
    }
}
