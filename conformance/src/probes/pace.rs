//! The number of concurrent requests that a candidate can respond to within the timeout.
//!
//! A server may lawfully process one request at a time. Then concurrent requests wait for each other.

use std::time::Duration;

/// The part of the timeout that concurrent requests may take.
const PART: f64 = 0.6;

/// The time per request, assuming that concurrent requests are processed one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace(Duration);

impl Pace {
    /// Records the duration of a batch of concurrent requests, as a moving average.
    pub(super) fn note(&mut self, requests: usize, took: Duration) {
        let requests = u32::try_from(requests.max(1)).unwrap_or(u32::MAX);
        self.0 = (self.0 + took / requests) / 2;
    }

    /// How many of the wanted requests to send concurrently, at least one. A server that processes them concurrently gets more the
    /// next time, because the time per request then falls.
    pub(super) fn at_once(self, wanted: usize, timeout: Duration) -> usize {
        let in_time = timeout.mul_f64(PART).div_duration_f64(self.0.max(Duration::from_micros(1)));
        // The cast saturates.
        wanted.min((in_time as usize).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn a_fast_server_gets_all_requests_at_once() {
        let mut pace = Pace::default();
        pace.note(1, Duration::from_millis(3));
        assert_eq!(pace.at_once(35, TIMEOUT), 35);
        assert_eq!(Pace::default().at_once(1_000, TIMEOUT), 1_000);
    }

    #[test]
    fn a_serial_server_gets_as_many_requests_as_it_processes_in_time() {
        let (mut pace, each) = (Pace::default(), Duration::from_millis(700));
        let mut most = Duration::ZERO;
        for sent in [1, 1, 1, 1, 0, 0, 0, 0] {
            let sent = if sent == 0 { pace.at_once(35, TIMEOUT) } else { sent };
            let took = each * sent as u32;
            pace.note(sent, took);
            most = most.max(took);
        }
        assert!((Duration::from_secs(5)..TIMEOUT).contains(&most), "{most:?}");
    }

    #[test]
    fn a_slow_concurrent_server_gets_increasing_batches() {
        let mut pace = Pace::default();
        (0..9).for_each(|_| pace.note(1, Duration::from_secs(2)));
        let sizes: Vec<usize> = (0..10)
            .map(|_| {
                let sent = pace.at_once(35, TIMEOUT);
                pace.note(sent, Duration::from_secs(2));
                sent
            })
            .collect();
        assert!(sizes.is_sorted() && sizes.last() == Some(&35), "{sizes:?}");
    }

    #[test]
    fn a_server_that_needs_most_of_the_timeout_gets_one_request_at_a_time() {
        let mut pace = Pace::default();
        (0..9).for_each(|_| pace.note(1, Duration::from_secs(9)));
        assert_eq!(pace.at_once(16, TIMEOUT), 1);
    }
}
