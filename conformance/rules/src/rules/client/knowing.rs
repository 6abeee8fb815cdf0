//! The knowledge of a client: the responses that it knew when it sent a request.
//!
//! A client is everything that sends with one key: a set of connections. A connection knows a response when it has been delivered
//! to it; if the client has several, after [`Tolerance::HANDOVER`], because a pool may give the connection to another task. The other
//! connections know it [`Tolerance::CLIENT_SLACK`] later, because a fast server answers while other requests of
//! the same client are on their way to it, so that ten requests at once look like ten in a row.
//!
//! Times count at the client's side. A response reaches the client, and the next request comes back, a round trip after the recorder has
//! passed the response on. No request that follows a response on a connection comes sooner, so the shortest such time is taken for the
//! round trip of the connection.
//!
//! An open connection is not a task. Requests that were handed to a connection before a response cannot be taken back: as long as it
//! carries one request after the other without a pause, it may be working off such a queue ([`MOST_QUEUED`]), for
//! [`Tolerance::CLIENT_SLACK`] after the response at most.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::hash;
use crate::trace::knowledge::Carrier;

/// The largest number of requests that may have been in the queue of a connection when a response came.
pub(super) const MOST_QUEUED: u64 = 40;

/// The longest round trip. A longer time between a response and the next request is the client's own.
const LONGEST_ROUND_TRIP: SignedDuration = SignedDuration::from_millis(500);

/// The number of connections above which those that are idle are forgotten.
const MAX_CONNECTIONS: usize = 10_000;

/// The number of a key, in the order in which keys were first sent.
pub(super) type Key = usize;

/// The key, the connection and the times of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    /// The key that was sent, valid or not; none if there was none, or if the recording withholds it.
    pub(super) key: Option<Key>,
    pub(super) sent_at: Timestamp,
    pub(super) received_at: Timestamp,
    /// The largest error of `sent_at` and of `received_at`.
    pub(super) precision: SignedDuration,
    pub(super) carrier: Option<Carrier>,
    /// The part of the recording that has the exchange, and its number there.
    pub(super) place: (u64, usize),
    /// A hash of the name of the client program, if the request has one.
    pub(super) agent: Option<u64>,
    /// The time since when the connection has carried one request after the other without a pause.
    busy_since: Timestamp,
    /// The number of earlier requests on the connection since `busy_since`.
    queued: u64,
    round_trip: SignedDuration,
}

/// The keys that clients sent, and their connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The number of the present part.
    pub(super) part: u64,
    numbers: HashMap<String, Key>,
    connections: HashMap<u64, Connection>,
}

/// The latest exchange on a connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    busy_since: Timestamp,
    queued: u64,
    received_at: Timestamp,
    /// The shortest time from a response to the next request; none before the second request.
    round_trip: Option<SignedDuration>,
}

impl Keys {
    /// The senders of the requests of a part, which are given in the order of sending.
    pub(super) fn senders(&mut self, entries: &[Entry<'_>]) -> Vec<Sender> {
        self.part += 1;
        if self.connections.len() > MAX_CONNECTIONS {
            self.connections.clear();
        }
        self.measure(entries);
        entries.iter().map(|entry| self.sender(entry)).collect()
    }

    /// Measures the round trip of each connection: the shortest time from a response to the next request.
    fn measure(&mut self, entries: &[Entry<'_>]) {
        let mut latest: HashMap<u64, Timestamp> = HashMap::new();
        for exchange in entries.iter().map(|entry| entry.exchange) {
            let number = number_of(exchange.known.carrier);
            let known = self.connections.entry(number).or_insert(Connection {
                busy_since: exchange.sent_at,
                queued: 0,
                received_at: Timestamp::MIN,
                round_trip: None,
            });
            let received = latest.entry(number).or_insert(known.received_at);
            let passed = exchange.sent_at.duration_since(*received);
            if *received > Timestamp::MIN && !passed.is_negative() {
                known.round_trip = Some(known.round_trip.unwrap_or(LONGEST_ROUND_TRIP).min(passed));
            }
            *received = exchange.received_at.max(*received);
        }
    }

    fn sender(&mut self, entry: &Entry<'_>) -> Sender {
        let exchange = entry.exchange;
        let (known, request) = (&exchange.known, &exchange.request);
        let key = token(request.authorization.as_deref()).map(|token| {
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
            agent: request.further("user-agent").next().map(|agent| hash(&agent)),
            busy_since: exchange.sent_at,
            queued: 0,
            round_trip: SignedDuration::ZERO,
        };
        if let Some(connection) = self.connections.get_mut(&number_of(known.carrier)) {
            // The recorder of other recordings is the client.
            sender.round_trip = connection.round_trip.filter(|_| known.carrier.is_some()).unwrap_or_default();
            let passed = sender.sent_at.duration_since(connection.received_at).saturating_sub(sender.round_trip);
            if passed < Tolerance::SHORTEST_WAIT.duration() {
                (sender.busy_since, sender.queued) = (connection.busy_since, connection.queued + 1);
            }
            (connection.busy_since, connection.queued) = (sender.busy_since, sender.queued);
            connection.received_at = connection.received_at.max(sender.received_at);
        }
        sender
    }
}

/// The number of a connection; 0 if the recorder did not see connections.
fn number_of(carrier: Option<Carrier>) -> u64 {
    carrier.map_or(0, |carrier| carrier.connection)
}

/// The token of an `Authorization` value whose scheme is `Bearer`, in upper or lower case.
fn token(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

impl Sender {
    /// Returns true if each of two requests was sent while no other connection of a client was open.
    pub(super) fn is_sole_beside(&self, other: &Sender) -> bool {
        [self, other].into_iter().all(|sender| sender.carrier.is_some_and(|carrier| carrier.others == 0))
    }

    /// Returns true if both requests were sent on one connection.
    pub(super) fn shares_connection(&self, other: &Sender) -> bool {
        let connections = self.carrier.zip(other.carrier);
        connections.is_some_and(|(own, other)| own.connection == other.connection)
    }

    /// The least time at the client's side between the response to this request and a later request; negative if the later one was sent
    /// before the response came.
    pub(super) fn gap_to(&self, later: &Sender) -> SignedDuration {
        let between = later.sent_at.duration_since(self.received_at);
        between
            .saturating_sub(self.precision.max(later.precision))
            .saturating_sub(self.round_trip.max(later.round_trip))
    }

    /// Returns true if the connection of a later request had carried the response to this request, or its client had known it for long
    /// enough.
    pub(super) fn is_known_to(&self, later: &Sender) -> bool {
        let known_after = match self.shares_connection(later) {
            true if self.is_sole_beside(later) => SignedDuration::ZERO,
            // A pool may have given the connection to another task.
            true => Tolerance::HANDOVER.duration(),
            false => Tolerance::CLIENT_SLACK.duration(),
        };
        self.gap_to(later) >= known_after
    }

    /// Returns true if a later request was sent although its connection knew the response to this request, rather than waiting in the queue
    /// of that connection since.
    pub(super) fn is_disregarded_by(&self, later: &Sender) -> bool {
        self.is_known_to(later) && !(self.shares_connection(later) && self.may_find_queued(later))
    }

    /// Returns true if a later request was sent when this one had been answered, rather than at the same moment by another task of the client.
    pub(super) fn is_apart_from(&self, later: &Sender) -> bool {
        let is_one_connection = self.shares_connection(later) && self.is_sole_beside(later);
        let least = if is_one_connection { SignedDuration::ZERO } else { Tolerance::HANDOVER.duration() };
        self.gap_to(later) >= least && !self.may_find_queued(later)
    }

    /// Returns true if a later request may have been in the queue of its connection when the response to this request came.
    fn may_find_queued(&self, later: &Sender) -> bool {
        later.busy_since <= self.received_at
            && later.queued <= MOST_QUEUED
            && self.gap_to(later) < Tolerance::CLIENT_SLACK.duration()
    }
}
