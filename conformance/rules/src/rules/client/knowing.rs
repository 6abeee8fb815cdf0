//! What a client knew when it sent a request.
//!
//! A client is everything that sends with one key: a set of connections. A connection knows a response when it has been delivered to it.
//! The other connections know it [`Tolerance::CLIENT_SLACK`] later, because a fast server answers while other requests of the same client
//! are on their way to it, so that ten requests at once look like ten in a row.
//!
//! One connection is not always one task. Where a client has several connections open, a pool may give one to the next task before the
//! task that received a response on it has looked at that: there, the same connection knows after [`Tolerance::HANDOVER`]. Where no other
//! connection was open, nothing else could have been under way, apart from a task that was about to connect.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Carrier;

/// The third request after a response, each by itself on a new connection, comes from the task that received it, if so many requests
/// were sent by themselves, one after the other: several tasks have two connections open now and then, and are not all about to connect
/// at the same moment.
const IN_A_ROW: (u64, u64) = (3, 20);

/// A client that sends one request after the other may use two connections in turn, because a pool opens another one where the first is
/// not free yet. The third request after a response, on the same two connections and without any two at the same time, comes from the
/// task that received it: two tasks send one request more at most, and not even three do so now and then.
const IN_TURN: u64 = 3;

/// The number of a key, in the order in which keys were first sent.
pub(super) type Key = usize;

/// Who sent a request, when, and on which connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    /// The key that it was sent with, valid or not; none where there was none, or where the recording does not show it.
    pub(super) key: Option<Key>,
    pub(super) sent_at: Timestamp,
    pub(super) received_at: Timestamp,
    /// By how much either time may be off.
    pub(super) precision: SignedDuration,
    pub(super) carrier: Option<Carrier>,
    /// The part of the recording that has the exchange, and its number there.
    pub(super) place: (u64, usize),
    /// The requests of a key that were sent by themselves, one after the other, are numbered; the number of the row, and in it.
    row: (u64, u64),
    /// The same for requests on at most two connections, of which no two were under way at the same time.
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

/// The token of an `Authorization` value, if that is one of a bearer. The case of the scheme does not matter.
fn token(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

impl Sender {
    /// Whether no other connection of a client was open.
    pub(super) fn is_alone(&self) -> bool {
        self.carrier.is_some_and(|carrier| carrier.others == 0)
    }

    /// Whether both requests were sent on one connection.
    pub(super) fn shares_connection(&self, other: &Sender) -> bool {
        let connections = self.carrier.zip(other.carrier);
        connections.is_some_and(|(one, other)| one.connection == other.connection)
    }

    /// The least time that lay between the response to this request and a later one; negative where that was sent before.
    pub(super) fn until(&self, later: &Sender) -> SignedDuration {
        let between = later.sent_at.duration_since(self.received_at);
        between.saturating_sub(self.precision.max(later.precision))
    }

    /// Whether the client knew the response to this request when it sent a later one.
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
