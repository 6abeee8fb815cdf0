//! How many requests a candidate can be sent at once, so that the last of them is answered within the timeout.
//!
//! A server may lawfully deal with one request at a time. Then each of many waits for those before it.

use std::time::Duration;

/// The part of the timeout that requests sent together may take.
const PART: f64 = 0.6;

/// How long a request takes when all that were sent together are thought to be dealt with one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace(Duration);

impl Pace {
    /// Takes into account how long so many requests took that were sent together. What came before counts less and less.
    pub(super) fn note(&mut self, requests: usize, took: Duration) {
        let requests = u32::try_from(requests.max(1)).unwrap_or(u32::MAX);
        self.0 = (self.0 + took / requests) / 2;
    }

    /// How many of those wanted are to be sent at once, one at the least. Of a server that deals with many at a time more are sent
    /// the next time, since these will have taken no longer than one.
    pub(super) fn at_once(self, wanted: usize, timeout: Duration) -> usize {
        let in_time = timeout.mul_f64(PART).div_duration_f64(self.0.max(Duration::from_micros(1)));
        // A cast of what is out of range gives the nearest that is not.
        wanted.min((in_time as usize).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn a_quick_server_gets_all_at_once() {
        let mut pace = Pace::default();
        pace.note(1, Duration::from_millis(3));
        assert_eq!(pace.at_once(35, TIMEOUT), 35);
        assert_eq!(Pace::default().at_once(1_000, TIMEOUT), 1_000);
    }

    #[test]
    fn a_server_that_answers_one_request_at_a_time_gets_as_many_as_it_answers_in_time() {
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
    fn a_slow_server_that_answers_many_at_a_time_gets_more_and_more() {
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
    fn a_server_that_takes_nearly_all_the_time_there_is_gets_one_after_the_other() {
        let mut pace = Pace::default();
        (0..9).for_each(|_| pace.note(1, Duration::from_secs(9)));
        assert_eq!(pace.at_once(16, TIMEOUT), 1);
    }
}
