//! The places at which a conversation can be divided. No request is pending there, so no exchange before depends on one after it.

use std::collections::HashSet;

use animal_store_rules::trace::exchange::Exchange;
use jiff::Timestamp;

/// The number of exchanges before the last place at which a conversation can be divided, and whether no client is about to retry there. The
/// exchanges are in the order of sending; every request that was sent before the horizon is among them.
pub(super) fn divided(exchanges: &[Exchange], horizon: Timestamp) -> (usize, bool) {
    let (mut last, mut last_calm) = (0, 0);
    let mut received = Timestamp::MIN;
    let mut refused: HashSet<Option<&str>> = HashSet::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        received = received.max(exchange.received_at);
        let client = exchange.request.authorization.as_deref();
        if may_be_retried(exchange) {
            refused.insert(client);
        } else {
            refused.remove(&client);
        }
        let next = exchanges.get(at + 1).map_or(horizon, |next| next.sent_at.min(horizon));
        if received <= next {
            last = at + 1;
            last_calm = if refused.is_empty() { last } else { last_calm };
        }
    }
    // A place without pending retries is preferred, unless the part would be less than half as long.
    if 2 * last_calm >= last { (last_calm, last_calm > 0) } else { (last, false) }
}

fn may_be_retried(exchange: &Exchange) -> bool {
    matches!(exchange.status(), None | Some(408 | 429 | 500..))
}

#[cfg(test)]
mod tests {
    use animal_store_rules::trace::exchange::{Outcome, Request, Response};
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::SignedDuration;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(milliseconds)
    }

    fn exchange((sent, received, status): (i64, i64, u16)) -> Exchange {
        Exchange {
            number: 0,
            probe: "".into(),
            step: String::new(),
            request: Request::new("GET", "/pets"),
            outcome: Outcome::Response(Response { status, headers: Vec::new(), body: Vec::new(), cut: false }),
            sent_at: at(sent),
            received_at: at(received),
            known: Knowledge::default(),
        }
    }

    fn divided_at(exchanges: &[(i64, i64, u16)], horizon: i64) -> (usize, bool) {
        divided(&exchanges.iter().copied().map(exchange).collect::<Vec<_>>(), at(horizon))
    }

    #[test]
    fn a_conversation_is_divided_where_nothing_is_under_way() {
        let exchanges = [(0, 10, 200), (20, 40, 200), (30, 50, 200), (60, 70, 200)];
        assert_eq!(divided_at(&exchanges, 80), (4, true));
        assert_eq!(divided_at(&exchanges, 65), (3, true), "one is under way since then");
        assert_eq!(divided_at(&exchanges, 45), (1, true), "the second and the third overlap with it");
        assert_eq!(divided_at(&exchanges[..3], 35), (1, true));
        assert_eq!(divided_at(&exchanges, 5), (0, false));
    }

    #[test]
    fn a_place_where_no_client_waits_is_better_unless_it_lies_far_back() {
        let calm = [(0, 10, 200), (20, 30, 200), (40, 50, 429)];
        assert_eq!(divided_at(&calm, 60), (2, true));
        let hammering = [(0, 10, 200), (20, 30, 429), (40, 50, 429), (60, 70, 429)];
        assert_eq!(divided_at(&hammering, 80), (4, false));
    }
}
