//! The knowledge of a client: the responses that it knew when it sent a request.
//!
//! A client is everything that sends with one key: a set of connections. A connection knows a response when it has been delivered
//! to it. The other connections know it [`Tolerance::CLIENT_SLACK`] later, because a fast server answers while other requests of
//! the same client are on their way to it, so that ten requests at once look like ten in a row.
//!
//! One connection is not always one task. If a client has several connections open, a pool may give a connection to the next task
//! before the task that received a response on it has looked at that response. The connection then knows the response after
//! [`Tolerance::HANDOVER`]. If no other connection was open, no other request can have been under way, apart from a task that was
//! about to connect.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Carrier;

/// The distance of two requests in a row, and the place of the later one, from which on the later request comes from the task that
/// received the earlier response. Each request of a row is sent while no other connection is open. Several tasks have two
/// connections open now and then, and are not all about to connect at the same moment.
const IN_A_ROW: (u64, u64) = (3, 20);

/// The distance of two requests in a turn from which on the later one comes from the task that received the earlier response. The
/// requests of a turn use two connections at most, one after the other: a pool opens a second one if the first is not free yet.
/// Several tasks send at most one further request in this order.
const IN_TURN: u64 = 3;

/// The number of a key, in the order in which keys were first sent.
pub(super) type Key = usize;

/// The key, the connection and the times of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    /// The key that was sent, valid or not; none if there was none, or if the recording withholds it.
    pub(super) key: Option<Key>,
    pub(super) sent_at: Timestamp,
    pub(super) received_at: Timestamp,
    /// The largest error of either time.
    pub(super) precision: SignedDuration,
    pub(super) carrier: Option<Carrier>,
    /// The part of the recording that has the exchange, and its number there.
    pub(super) place: (u64, usize),
    /// The number of the row, and the place of the request in it. The requests of a row are sent with one key, each while no other
    /// connection is open, and after the response to the one before.
    row: (u64, u64),
    /// The number of the turn, and the place of the request in it. A turn is like a row, but its requests use at most two
    /// connections, which may both be open.
    turn: (u64, u64),
}

/// The keys that clients sent, and the last request with each.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The number of the present part.
    pub(super) part: u64,
    numbers: HashMap<String, Key>,
    rows: Vec<Row>,
}

/// The latest requests with a key, as far as they were sent one after the other.
#[derive(Clone, Copy, Debug)]
struct Row {
    place: (u64, u64),
    turn: (u64, u64),
    /// The connections of the turn.
    connections: [u64; 2],
    was_alone: bool,
    received_at: Timestamp,
}

impl Keys {
    /// The sender of a request. Requests are given in the order of sending.
    pub(super) fn sender(&mut self, entry: &Entry<'_>) -> Sender {
        let exchange = entry.exchange;
        let known = &exchange.known;
        let key = token(exchange.request.authorization.as_deref()).map(|token| {
            let next = self.numbers.len();
            *self.numbers.entry(token.to_owned()).or_insert(next)
        });
        let mut sender = Sender {
            key,
            sent_at: exchange.sent_at,
            received_at: exchange.received_at,
            precision: known.precision,
            carrier: known.carrier,
            place: (self.part, exchange.number),
            row: (0, 0),
            turn: (0, 0),
        };
        if let Some(key) = key {
            (sender.row, sender.turn) = self.row_of(key, &sender);
        }
        sender
    }

    fn row_of(&mut self, key: Key, sender: &Sender) -> ((u64, u64), (u64, u64)) {
        let none =
            Row { place: (0, 0), turn: (0, 0), connections: [0; 2], was_alone: false, received_at: Timestamp::MIN };
        if self.rows.len() <= key {
            self.rows.resize(key + 1, none);
        }
        let last = &mut self.rows[key];
        let next = |(row, place): (u64, u64), follows: bool| if follows { (row, place + 1) } else { (row + 1, 0) };
        let follows = last.received_at <= sender.sent_at;
        let (connection, others) = sender.carrier.map_or((0, u32::MAX), |carrier| (carrier.connection, carrier.others));
        let [first, second] = last.connections;
        let is_known = connection == first || connection == second || second == 0;
        let is_in_turn = follows && others <= 1 && first != 0 && is_known;
        last.connections = match is_in_turn {
            true if connection == first => [first, second],
            true => [first, connection],
            false => [connection, 0],
        };
        last.turn = next(last.turn, is_in_turn);
        last.place = next(last.place, follows && last.was_alone && sender.is_alone());
        last.was_alone = sender.is_alone();
        last.received_at = last.received_at.max(sender.received_at);
        (last.place, last.turn)
    }
}

/// The token of an `Authorization` value whose scheme is `Bearer`, in upper or lower case.
fn token(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

impl Sender {
    /// Returns true if no other connection of a client was open.
    pub(super) fn is_alone(&self) -> bool {
        self.carrier.is_some_and(|carrier| carrier.others == 0)
    }

    /// Returns true if both requests were sent on one connection.
    pub(super) fn shares_connection(&self, other: &Sender) -> bool {
        let connections = self.carrier.zip(other.carrier);
        connections.is_some_and(|(own, other)| own.connection == other.connection)
    }

    /// The least time between the response to this request and a later request; negative if the later one was sent before the
    /// response.
    pub(super) fn until(&self, later: &Sender) -> SignedDuration {
        let between = later.sent_at.duration_since(self.received_at);
        between.saturating_sub(self.precision.max(later.precision))
    }

    /// Returns true if the client knew the response to this request when it sent a later one.
    pub(super) fn is_known_to(&self, later: &Sender) -> bool {
        let passed = self.until(later);
        if passed.is_negative() {
            return false;
        }
        if passed >= Tolerance::CLIENT_SLACK.duration() {
            return true;
        }
        let shares = self.shares_connection(later);
        if self.turn.0 == later.turn.0 && later.turn.1.saturating_sub(self.turn.1) >= IN_TURN {
            return true;
        }
        if !(self.is_alone() && later.is_alone()) {
            return shares && passed >= Tolerance::HANDOVER.duration();
        }
        let is_in_a_row = self.row.0 == later.row.0
            && later.row.1.saturating_sub(self.row.1) >= IN_A_ROW.0
            && later.row.1 >= IN_A_ROW.1;
        shares || is_in_a_row || passed >= Tolerance::HANDOVER.duration()
    }
}
