//! The knowledge of a client: the responses that it knew when it sent a request.
//!
//! A client is everything that sends with one key: a set of connections. A connection knows a response when it has been delivered
//! to it. The other connections know it [`Tolerance::CLIENT_SLACK`] later, because a fast server answers while other requests of
//! the same client are on their way to it, so that ten requests at once look like ten in a row.
//!
//! An open connection is not a task. A pool gives a connection that becomes free to the next task, before the task that received a response
//! on it has looked at that response: the other tasks know it after [`Tolerance::HANDOVER`]. Requests that were handed to the pool before
//! the response cannot be taken back. As long as a connection carries one request after the other without a pause, it may be working off
//! such a queue ([`MOST_QUEUED`]), for [`Tolerance::CLIENT_SLACK`] after the response at most. A single task has no queue
//! ([`LEAST_PAUSES`]).

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::hash;
use crate::trace::knowledge::Carrier;

/// The largest number of requests with a key that may have been in a queue when a response came.
const MOST_QUEUED: u64 = 40;

/// The least number of requests in a row, each sent after a pause in which no request was under way, that show a single task. If this task
/// is refused and the same request follows, it knew of the refusal.
const LEAST_PAUSES: u64 = 5;

/// The distance of two requests in a turn from which on the connection of the later one has seen the earlier response. Several tasks send at
/// most one further request in this order.
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
    /// The number of the turn, and the place of the request in it. The requests of a turn are sent on one connection, or on a new one when
    /// that is not free. Tasks that take turns on their own connections come back to an earlier one, which ends the turn.
    turn: (u64, u64),
    /// The number of earlier requests with the key.
    count: u64,
    /// The number of latest requests with the key, each sent after a pause in which none was under way, on one connection or while no other
    /// was open.
    pauses: u64,
    /// The time since when the connection has carried one request after the other without a pause.
    busy_since: Timestamp,
    /// A hash of the request.
    request: u64,
}

/// The keys that clients sent, and the latest requests with each.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The number of the present part.
    pub(super) part: u64,
    numbers: HashMap<String, Key>,
    latest: Vec<Latest>,
}

/// The latest requests with a key.
#[derive(Clone, Debug, Default)]
struct Latest {
    count: u64,
    pauses: u64,
    turn: (u64, u64),
    connection: u64,
    /// Whether the turn goes on on another connection than it began on.
    has_replaced: bool,
    /// The connection that was opened last.
    newest: u64,
    received_at: Timestamp,
    busy: HashMap<u64, Busy>,
}

/// A connection that carries one request after the other without a pause.
#[derive(Clone, Copy, Debug)]
struct Busy {
    since: Timestamp,
    received_at: Timestamp,
}

impl Keys {
    /// The sender of a request. Requests are given in the order of sending.
    pub(super) fn sender(&mut self, entry: &Entry<'_>) -> Sender {
        let exchange = entry.exchange;
        let (known, request) = (&exchange.known, &exchange.request);
        let key = token(request.authorization.as_deref()).map(|token| {
            let next = self.numbers.len();
            *self.numbers.entry(token.to_owned()).or_insert(next)
        });
        let body = request.body.as_ref().map(|body| &body.bytes);
        let mut sender = Sender {
            key,
            sent_at: exchange.sent_at,
            received_at: exchange.received_at,
            precision: known.precision,
            carrier: known.carrier,
            place: (self.part, exchange.number),
            turn: (0, 0),
            count: 0,
            pauses: 0,
            busy_since: exchange.sent_at,
            request: hash(&(&request.method, &request.path, &request.query, body)),
        };
        if let Some(key) = key {
            self.latest.resize_with(self.numbers.len(), Latest::default);
            self.latest[key].follow(&mut sender);
        }
        sender
    }
}

impl Latest {
    /// Adds a request to the latest ones with its key.
    fn follow(&mut self, sender: &mut Sender) {
        let pause = Tolerance::SHORTEST_WAIT.duration();
        let passed = sender.sent_at.duration_since(self.received_at);
        let (connection, others) = sender.carrier.map_or((0, u32::MAX), |carrier| (carrier.connection, carrier.others));
        let is_continued = connection == self.connection && connection != 0;
        let is_replaced = !self.has_replaced && self.connection != 0 && connection > self.newest;
        let is_in_turn = !passed.is_negative() && others <= 1 && (is_continued || is_replaced);
        self.has_replaced = is_in_turn && (self.has_replaced || is_replaced);
        self.turn = if is_in_turn { (self.turn.0, self.turn.1 + 1) } else { (self.turn.0 + 1, 0) };
        self.pauses = if passed >= pause && (others == 0 || is_continued && others == 1) { self.pauses + 1 } else { 0 };
        (self.connection, self.newest) = (connection, self.newest.max(connection));
        (sender.turn, sender.count, sender.pauses) = (self.turn, self.count, self.pauses);
        // A new connection takes the place of the one that became free last.
        self.busy.retain(|_, busy| sender.sent_at.duration_since(busy.received_at) < pause);
        let free = self.busy.values().filter(|busy| busy.received_at <= sender.sent_at);
        let before = self.busy.get(&connection).or_else(|| free.max_by_key(|busy| busy.received_at));
        sender.busy_since = before.map_or(sender.sent_at, |busy| busy.since);
        self.busy.insert(connection, Busy { since: sender.busy_since, received_at: sender.received_at });
        self.received_at = self.received_at.max(sender.received_at);
        self.count += 1;
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
    pub(super) fn gap_to(&self, later: &Sender) -> SignedDuration {
        let between = later.sent_at.duration_since(self.received_at);
        between.saturating_sub(self.precision.max(later.precision))
    }

    /// Returns true if the connection of a later request had seen the response to this request, or its client had.
    pub(super) fn is_known_to(&self, later: &Sender) -> bool {
        self.reaches(later, self.is_seen_on_connection_of(later))
    }

    /// Returns true if the connection of a later request, the only one or one of the two of a turn, has carried the response to this request.
    fn is_seen_on_connection_of(&self, later: &Sender) -> bool {
        let is_in_turn = self.is_in_turn_with(later) && later.turn.1.saturating_sub(self.turn.1) >= IN_TURN;
        is_in_turn || self.is_alone() && later.is_alone() && self.shares_connection(later)
    }

    /// Returns true if earlier requests with the key show that a single task sends them.
    pub(super) fn is_of_single_task(&self) -> bool {
        self.pauses >= LEAST_PAUSES
    }

    /// Returns true if both requests belong to one turn.
    pub(super) fn is_in_turn_with(&self, later: &Sender) -> bool {
        self.turn.0 == later.turn.0
    }

    /// Returns true if a connection that has carried the response to this request repeats the request.
    pub(super) fn is_repeated_by(&self, later: &Sender) -> bool {
        self.request == later.request && self.is_seen_on_connection_of(later)
    }

    /// Returns true if the request is repeated on a connection that has carried its response, or on another one while each was the only one
    /// open.
    pub(super) fn is_followed_alone_by(&self, later: &Sender) -> bool {
        self.is_repeated_by(later) || self.request == later.request && self.is_alone() && later.is_alone()
    }

    /// Returns true if a later request was sent by a task that knew the response to this request, rather than waiting in a queue since. A
    /// connection that knew the response repeats the request, and a queue has further ones, for which it is not busy for long.
    pub(super) fn is_disregarded_by(&self, later: &Sender) -> bool {
        let further = later.count.saturating_sub(self.count);
        // Without a common connection, each of several processes may send one further request.
        let excludes_others = self.shares_connection(later) || further >= IN_TURN;
        let is_resent = self.is_of_single_task() && self.request == later.request && excludes_others;
        let is_one_task = self.is_repeated_by(later) || is_resent;
        let may_be_queued = later.busy_since <= self.received_at
            && further <= MOST_QUEUED
            && self.gap_to(later) < Tolerance::CLIENT_SLACK.duration();
        (is_one_task || !may_be_queued) && self.reaches(later, is_one_task)
    }

    fn reaches(&self, later: &Sender, is_one_task: bool) -> bool {
        let known_after = match self.shares_connection(later) {
            _ if is_one_task => SignedDuration::ZERO,
            true => Tolerance::HANDOVER.duration(),
            false => Tolerance::CLIENT_SLACK.duration(),
        };
        self.gap_to(later) >= known_after
    }
}
