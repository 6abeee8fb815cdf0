//! The clock of a run: the only source of the time, and the only way to wait.
//!
//! A run waits for windows to end, which takes minutes. A test whose candidate uses the same stepping clock does not wait: there,
//! time passes only by reading the clock and by waiting, so nothing depends on the speed of the machine. Rules are not affected,
//! because they read no clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// The time, and a way to wait.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Stepping>);

#[derive(Clone, Debug)]
struct Stepping {
    since: Timestamp,
    started: Instant,
    /// The time that has passed in nanoseconds, shared by all clones.
    passed: Arc<AtomicU64>,
}

/// The time that passes with each reading of a stepping clock, so that no two readings are equal.
const STEP: Duration = Duration::from_millis(1);

/// The time on the machine's clock within which waits begin at the same time.
const TOGETHER: Duration = Duration::from_millis(2);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock::default()
    }

    /// A simulated clock that starts now: each reading advances it by a millisecond, and each wait to the end of the wait, almost at
    /// once. Waits that are begun at the same time pass at the same time. Clones share the time.
    pub fn stepping() -> Clock {
        Clock::stepping_from(Timestamp::now())
    }

    /// A simulated clock like [`Clock::stepping`] that starts at another time than now.
    pub fn stepping_from(since: Timestamp) -> Clock {
        Clock(Some(Stepping { since, started: Instant::now(), passed: Arc::default() }))
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            None => Timestamp::now(),
            Some(clock) => {
                let passed = SignedDuration::try_from(clock.step(STEP)).unwrap_or(SignedDuration::MAX);
                clock.since.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// The monotonic time, for measuring durations.
    pub fn instant(&self) -> Instant {
        self.0.as_ref().map_or_else(Instant::now, |clock| clock.started + clock.step(STEP))
    }

    /// Returns true if the time passes only by readings and waits.
    pub fn is_simulated(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for this duration.
    pub async fn sleep(&self, time: Duration) {
        match &self.0 {
            None => tokio::time::sleep(time).await,
            Some(clock) => {
                let end = clock.step(Duration::ZERO) + time;
                // Other waits that begin at the same time do so before this one ends.
                tokio::time::sleep(TOGETHER).await;
                let end = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX);
                clock.passed.fetch_max(end, Ordering::SeqCst);
            }
        }
    }
}

impl Stepping {
    /// Advances the clock, and returns the total time that has passed.
    fn step(&self, time: Duration) -> Duration {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.passed.fetch_add(nanoseconds, Ordering::SeqCst).saturating_add(nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stepping_clock_advances_with_readings_and_waits_only_and_so_do_its_clones() {
        let clock = Clock::stepping();
        let twin = clock.clone();
        let (first, measured) = (clock.now(), clock.instant());
        assert_eq!(twin.now().duration_since(first), SignedDuration::from_millis(2));
        clock.sleep(Duration::from_hours(1)).await;
        assert_eq!(twin.now().duration_since(first), SignedDuration::from_millis(3_600_003));
        assert_eq!(twin.instant().duration_since(measured), Duration::from_millis(3_600_003));
    }

    #[tokio::test]
    async fn waits_that_begin_together_pass_together() {
        let clock = Clock::stepping();
        let first = clock.now();
        let (hour, half) = (Duration::from_hours(1), Duration::from_mins(30));
        tokio::join!(clock.sleep(hour), clock.sleep(half), clock.sleep(hour));
        assert_eq!(clock.now().duration_since(first), SignedDuration::from_millis(3_600_001));
    }
}
