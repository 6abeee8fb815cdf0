//! The server's clock. `Date` shows it, unless something between server and client wrote `Date` by a clock of its own.

use super::Entry;
use crate::tolerance::Tolerance;

/// The end of a window as a response reports it, by two clocks.
#[derive(Debug)]
struct End {
    /// The seconds from the `Date` to the Reset.
    by_date: i64,
    /// The seconds from the time at which the response was received to the Reset.
    by_own_clock: i64,
    /// The seconds from the request to the end of the response.
    took: i64,
}

/// Takes the recorder's clock for the server's, if it explains every Reset and `Date` does not: then `Date` is by another clock, such as
/// that of a gateway, of one of several gateways, or of a library that writes a simulated server's `Date`.
pub(super) fn settle(entries: &mut [Entry<'_>]) {
    let mut ends = Vec::new();
    for entry in &*entries {
        if entry.succeeded() || entry.key().is_some() && matches!(entry.status(), Some(400 | 404)) {
            ends.extend(end(entry));
        }
    }
    let is_foreign = [Tolerance::MINUTE, Tolerance::DAY].into_iter().any(|longest| {
        are_within(&ends, |end| end.by_own_clock, longest) && !are_within(&ends, |end| end.by_date, longest)
    });
    for entry in entries.iter_mut().filter(|entry| entry.date.is_some()) {
        if is_foreign || entry.exchange.known.has_foreign_date {
            // A `Date` is in whole seconds.
            entry.date = jiff::Timestamp::from_second(entry.exchange.received_at.as_second()).ok();
        }
    }
}

/// Whether, by a clock, every window ends after its response and within the longest window.
fn are_within(ends: &[End], clock: fn(&End) -> i64, longest: Tolerance) -> bool {
    let slack = Tolerance::CLOCK_SLACK.seconds();
    ends.iter().all(|end| (-end.took - 1 - slack..=longest.seconds() + slack).contains(&clock(end)))
}

/// The end of the window that a response reports, if its `Date` and its Reset can be read and its time is recorded precisely.
fn end(entry: &Entry<'_>) -> Option<End> {
    let reset = entry.rate.as_ref()?.reset.integer()?;
    let (date, exchange) = (entry.date?, entry.exchange);
    let is_timed = exchange.known.precision <= Tolerance::CLOCK_SLACK.duration();
    is_timed.then(|| End {
        by_date: reset.saturating_sub(date.as_second()),
        by_own_clock: reset.saturating_sub(exchange.received_at.as_second()),
        took: exchange.received_at.duration_since(exchange.sent_at).as_secs(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::History;
    use crate::tests::TraceBuilder;

    /// Lists in a minute, with a `Date` and a Reset that are this many seconds off.
    fn off_by(date: i64, reset: i64) -> TraceBuilder {
        [1, 20, 38].into_iter().enumerate().fold(TraceBuilder::new().window(60 + reset), |builder, (at, pause)| {
            builder.wait(pause).list(200, 59 - at as u64, 60).dated(date)
        })
    }

    fn has_own_clock(builder: TraceBuilder) -> bool {
        let trace = builder.trace();
        let shown =
            |exchange: &crate::trace::exchange::Exchange| exchange.response().and_then(|response| response.date());
        History::new(&trace).entries.iter().any(|entry| entry.server_time() != shown(entry.exchange))
    }

    #[test]
    fn the_date_of_a_gateway_is_not_the_clock_of_the_server() {
        for date in [5, 120, -120, 7_200, -7_200] {
            assert!(has_own_clock(off_by(date, 0)), "{date}");
            assert_eq!(off_by(date, 0).failures_of("headers.reset-time"), [[0; 0]; 0], "{date}");
        }
    }

    #[test]
    fn a_date_that_stands_still_or_changes_is_not_the_clock_of_the_server() {
        for dates in [[0, -9, -18], [0, -30, 0], [0, 3_600, 0]] {
            let mut builder = TraceBuilder::new().window(60);
            for (at, (pause, date)) in [1, 1, 57].into_iter().zip(dates).enumerate() {
                builder = builder.wait(pause).list(200, 59 - at as u64, 60).dated(date);
            }
            assert!(has_own_clock(builder), "{dates:?}");
        }
    }

    #[test]
    fn a_server_whose_clock_is_off_is_taken_at_its_date() {
        for off in [0, 5, 120, -120, 7_200] {
            assert!(!has_own_clock(off_by(off, off)), "{off}");
        }
    }

    #[test]
    fn a_reset_that_no_clock_explains_stays_wrong() {
        for (date, reset) in [(0, -120), (0, 120), (120, -200), (0, 3_600_000)] {
            assert!(!has_own_clock(off_by(date, reset)), "{date} {reset}");
        }
        assert!(!off_by(0, -120).failures_of("headers.reset-time").is_empty());
    }
}
