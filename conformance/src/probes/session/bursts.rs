//! The size of a burst: how many concurrent requests a candidate answers within the timeout, and admits.
//!
//! A server may lawfully process one request at a time. Then concurrent requests wait for each other.

use std::time::Duration;

/// The part of the timeout that concurrent requests may take.
const PART: f64 = 0.6;

/// The bursts of a session so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bursts {
    /// The time per request, assuming that concurrent requests are processed one after the other; a moving average.
    time_per_request: Duration,
    /// The largest burst without a refusal.
    largest: usize,
    /// Whether the candidate has refused requests of a burst that its header fields promised to admit.
    is_refused: bool,
}

impl Default for Bursts {
    fn default() -> Bursts {
        Bursts { time_per_request: Duration::ZERO, largest: 1, is_refused: false }
    }
}

impl Bursts {
    /// Records the duration of a burst.
    pub(super) fn note_duration(&mut self, requests: usize, took: Duration) {
        let requests = u32::try_from(requests.max(1)).unwrap_or(u32::MAX);
        self.time_per_request = (self.time_per_request + took / requests) / 2;
    }

    /// Records the refusals of a burst, before which this many requests were promised to be admitted.
    pub(super) fn note_refusals(&mut self, requests: usize, refused: usize, promised: u64) {
        self.is_refused |= refused > 1 || refused == 1 && promised > requests as u64;
        if refused == 0 {
            self.largest = self.largest.max(requests);
        }
    }

    /// The number of requests to send concurrently: at least one, and at most as many as are wanted and the window has room for. Bursts
    /// grow by doubling. A server that processes requests concurrently gets more the next time, because the time per request falls.
    pub(super) fn size(self, wanted: usize, room: usize, timeout: Duration) -> usize {
        let room = if self.is_refused { 1 } else { room.min(2 * self.largest) };
        wanted.min(room).min(self.in_time(timeout))
    }

    /// The number of requests that are answered within the timeout, at least one.
    fn in_time(self, timeout: Duration) -> usize {
        let in_time = timeout.mul_f64(PART).div_duration_f64(self.time_per_request.max(Duration::from_micros(1)));
        // The cast saturates.
        (in_time as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn a_fast_server_gets_all_requests_at_once() {
        let mut bursts = Bursts::default();
        bursts.note_duration(1, Duration::from_millis(3));
        assert_eq!(bursts.in_time(TIMEOUT).min(35), 35);
        assert_eq!(Bursts::default().in_time(TIMEOUT).min(1_000), 1_000);
    }

    #[test]
    fn a_serial_server_gets_as_many_requests_as_it_processes_in_time() {
        let (mut bursts, each) = (Bursts::default(), Duration::from_millis(700));
        let mut most = Duration::ZERO;
        for sent in [1, 1, 1, 1, 0, 0, 0, 0] {
            let sent = if sent == 0 { bursts.in_time(TIMEOUT).min(35) } else { sent };
            let took = each * sent as u32;
            bursts.note_duration(sent, took);
            most = most.max(took);
        }
        assert!((Duration::from_secs(5)..TIMEOUT).contains(&most), "{most:?}");
    }

    #[test]
    fn a_slow_concurrent_server_gets_increasing_batches() {
        let mut bursts = Bursts::default();
        (0..9).for_each(|_| bursts.note_duration(1, Duration::from_secs(2)));
        let sizes: Vec<usize> = (0..10)
            .map(|_| {
                let sent = bursts.in_time(TIMEOUT).min(35);
                bursts.note_duration(sent, Duration::from_secs(2));
                sent
            })
            .collect();
        assert!(sizes.is_sorted() && sizes.last() == Some(&35), "{sizes:?}");
    }
}
