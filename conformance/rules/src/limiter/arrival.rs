//! Arrival bounds: when, by the server's clock, a request may have arrived.

use crate::history::Entry;
use crate::tolerance::Tolerance;

/// The Unix times, by the server's clock, between which a request came: its `Date`, which says when the answer went out, less the
/// whole seconds that the answer took; and that `Date`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    /// Not before this second.
    pub earliest: i64,
    /// Not after this second.
    pub latest: i64,
}

impl Arrival {
    /// The bounds for a request, if its answer shows the server's clock.
    #[must_use]
    pub fn of(entry: &Entry<'_>) -> Option<Arrival> {
        let latest = entry.server_time()?.as_second();
        let exchange = entry.exchange;
        let took =
            exchange.received_at.duration_since(exchange.sent_at).saturating_add(exchange.known.precision).as_secs();
        Some(Arrival { earliest: latest - took, latest })
    }

    /// Whether the request may have come at this time, as far as clocks are to be trusted.
    #[must_use]
    pub fn may_be(self, time: i64) -> bool {
        let slack = Tolerance::CLOCK_SLACK.seconds();
        (self.earliest - slack..=self.latest + slack).contains(&time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_request_came_between_its_sending_and_its_answer_by_the_servers_clock() {
        let arrival = |builder: TraceBuilder| Arrival::of(&History::new(&builder.trace()).entries[0]);
        let slow = arrival(TraceBuilder::new().list(200, 5, 7).slow(4)).expect("a Date");
        assert_eq!(slow.latest - slow.earliest, 4);
        assert!(slow.may_be(slow.earliest - 2) && slow.may_be(slow.latest + 2));
        assert!(!slow.may_be(slow.earliest - 3) && !slow.may_be(slow.latest + 3));
        assert_eq!(arrival(TraceBuilder::new().list(200, 5, 7).dateless()), None);
    }
}
