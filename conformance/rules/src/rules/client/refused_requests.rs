//! Requests that were refused as invalid and are sent again unchanged: the client ignored the refusal.
//!
//! A bad request may be sent once, in a test or by mistake, and tests and monitors repeat bad requests on purpose. Only a certainly bad
//! request counts, only after a refusal that says so, and only if one connection or one program repeats it more than [`REPETITIONS`] times.
//!
//! A test suite that runs again is a new beginning. It shows in a pause, in a new connection after the end of one that carried several
//! requests, or in several other requests since: a client that did not learn repeats one request.

use std::collections::{HashMap, HashSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::knowing::{Key, Sender};
use super::{Clients, described};
use crate::history::Entry;
use crate::request::{CreateBody, Operation, Parameter};
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::exchange::Request;
use crate::trace::hash;
use crate::trace::json::Json;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_clients("client.new-pet", |clients, memory, judgement| {
        let sessions = &mut memory.bad_bodies;
        judge_repetitions(clients, sessions, has_bad_body, "a body that is no NewPet", judgement);
    }),
    Rule::of_clients("client.list-parameters", |clients, memory, judgement| {
        let sessions = &mut memory.bad_queries;
        judge_repetitions(clients, sessions, has_bad_query, "a limit or status outside its range", judgement);
    }),
];

/// The number of times that a client may repeat a refused request.
const REPETITIONS: usize = 3;

/// A pause after which the requests may belong to another run of the client.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// The number of latest requests in which a repeated one is sought.
const LATEST: usize = 8;

/// The number of different requests since a refused one that show another run of a suite.
const OTHERS: usize = 3;

/// The largest number of requests that are remembered for each key.
const MAX_REQUESTS: usize = 10_000;

/// A client that may repeat a request: a connection, or everything that has one name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Repeater {
    Connection(u64),
    Agent(u64),
}

/// The requests of one client since its latest beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    latest: Option<Timestamp>,
    /// The present connection, and the number of requests that it carried.
    connection: (u64, usize),
    /// The hashes of the latest requests.
    requests: VecDeque<u64>,
    /// The latest refusal of each bad request, and the number of its repetitions.
    refused: HashMap<(u64, Repeater), (Sender, usize)>,
}

fn judge_repetitions(
    clients: &Clients<'_>,
    sessions: &mut HashMap<Option<Key>, Session>,
    is_bad: fn(&Entry<'_>) -> bool,
    described_defect: &'static str,
    judgement: &mut Judgement,
) {
    for (entry, sender) in clients.exchanges() {
        let session = sessions.entry(sender.key).or_default();
        session.begin(sender);
        let request = hash_of(&entry.exchange.request);
        if is_bad(entry) {
            let says_so = matches!(entry.status(), Some(400 | 415 | 422));
            match session.repeat(request, sender, says_so) {
                Some((earlier, times)) => judgement.fail(
                    &clients.evidence(entry, &[&earlier]),
                    sentence!("no further request with {}, after a refusal that says so", described_defect),
                    sentence!("{} was sent again, {} times", described(entry), times),
                ),
                None if says_so => judgement.hold(),
                None => {}
            }
        }
        if session.requests.len() >= LATEST {
            session.requests.pop_front();
        }
        session.requests.push_back(request);
    }
}

impl Session {
    /// Forgets all requests if the client begins anew.
    fn begin(&mut self, sender: &Sender) {
        let (connection, carried) = self.connection;
        let carrier = sender.carrier.filter(|carrier| carrier.connection != connection);
        let is_reconnected = carrier.is_some_and(|carrier| carrier.others == 0 && carried > 1);
        if is_reconnected || self.latest.is_some_and(|latest| sender.sent_at.duration_since(latest) >= PAUSE) {
            *self = Session::default();
        }
        self.connection = match carrier {
            Some(carrier) => (carrier.connection, 1),
            None => (connection, carried + 1),
        };
        self.latest = self.latest.max(Some(sender.received_at));
    }

    /// Notes a bad request. Returns the refusal that it disregards, and the number of its repetitions, if there are too many.
    fn repeat(&mut self, request: u64, sender: &Sender, is_refused: bool) -> Option<(Sender, usize)> {
        let since: HashSet<u64> =
            self.requests.iter().rev().copied().take_while(|earlier| *earlier != request).collect();
        let begins_anew = since.len() >= OTHERS || !self.requests.contains(&request);
        let connection = sender.carrier.map(|carrier| Repeater::Connection(carrier.connection));
        let mut found = None;
        for repeater in connection.into_iter().chain(sender.agent.map(Repeater::Agent)) {
            let known = self.refused.get(&(request, repeater)).filter(|_| !begins_anew).copied();
            let is_delivered = known.is_some_and(|(latest, _)| latest.received_at <= sender.sent_at);
            let times = known.map_or(0, |(_, times)| times) + usize::from(is_delivered);
            found = found.or(known.map(|(latest, _)| (latest, times)).filter(|_| times > REPETITIONS));
            if is_refused && self.refused.len() < MAX_REQUESTS {
                self.refused.insert((request, repeater), (*sender, times));
            }
        }
        found
    }
}

/// Returns true if a body is certainly no NewPet.
fn has_bad_body(entry: &Entry<'_>) -> bool {
    if entry.exchange.known.withheld.contains(Fact::RequestBody) {
        return false;
    }
    match entry.operation {
        // A refusal shows that the server does not read an extension of JSON.
        Operation::Create(CreateBody::Malformed | CreateBody::Extended | CreateBody::Faulty(..)) => true,
        // Only a 415 shows that the server does not accept this media type.
        Operation::Create(CreateBody::OtherMedia) => entry.status() == Some(415),
        _ => false,
    }
}

/// Returns true if `limit` or `status` is outside its range.
fn has_bad_query(entry: &Entry<'_>) -> bool {
    let Operation::List(query) = &entry.operation else { return false };
    matches!(query.limit, Parameter::Ambiguous(_)) || matches!(query.status, Parameter::Ambiguous(_))
}

/// A hash of the method, path, query, media type and body of a request, which does not depend on the order of parameters and members or on
/// white space.
fn hash_of(request: &Request) -> u64 {
    let mut pairs: Vec<&str> = request.query.as_deref().unwrap_or("").split('&').collect();
    pairs.sort_unstable();
    let body = request.body.as_ref().map(|body| match Json::parse_foreign(&body.bytes) {
        Ok(json) => (&body.content_type, canonical(&json).into_bytes()),
        Err(_) => (&body.content_type, body.bytes.clone()),
    });
    hash(&(&request.method, &request.path, pairs, body))
}

/// The text of a JSON value with the members of each object in order.
fn canonical(json: &Json) -> String {
    match json {
        Json::Object(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(name, value)| format!("{name:?}:{}", canonical(value))).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Exchange;
    use crate::trace::knowledge::Carrier;

    fn post(builder: TraceBuilder, body: &str, status: u16) -> TraceBuilder {
        builder.ask(Request::new("POST", "/pets").json(body), status, String::new())
    }

    fn list(builder: TraceBuilder, query: &str, status: u16) -> TraceBuilder {
        builder.ask(Request::new("GET", "/pets").query(query), status, "[]".to_owned())
    }

    fn sent(bodies: &[&str], status: u16) -> Vec<&'static str> {
        bodies.iter().fold(TraceBuilder::new(), |builder, body| post(builder, body, status)).client_broken()
    }

    #[test]
    fn a_bad_body_that_is_repeated_after_refusals_shows_that_the_client_did_not_learn() {
        for status in [400, 415, 422] {
            assert_eq!(sent(&["{"; 5], status), ["client.new-pet"], "{status}");
        }
        let other_order = [r#"{"name":"Rex","status":"sold"}"#, r#"{ "status":"sold","name":"Rex"}"#];
        assert_eq!(sent(&[other_order, other_order, other_order].concat(), 400), ["client.new-pet"]);
        assert_eq!(sent(&["{"; 4], 400), [""; 0], "tests and monitors repeat bad requests on purpose");
        assert_eq!(sent(&["{"; 9], 201), [""; 0], "the server took it, so there was nothing to learn");
        assert_eq!(sent(&[r#"{"name":"Rex","categoryId":1}"#; 9], 400), [""; 0], "the server was wrong to refuse it");
    }

    #[test]
    fn other_values_with_the_same_defect_are_other_requests() {
        let names: Vec<String> = (0..20).map(|number| format!(r#"{{"name":"Rex {number}"}}"#)).collect();
        assert_eq!(sent(&names.iter().map(String::as_str).collect::<Vec<_>>(), 400), [""; 0]);
        let pages =
            (1..=9).fold(TraceBuilder::new(), |builder, page| list(builder, &format!("limit=1000&page={page}"), 400));
        assert_eq!(pages.client_broken(), [""; 0]);
    }

    #[test]
    fn a_bad_query_that_is_repeated_after_refusals_shows_that_the_client_did_not_learn() {
        let times = |query: &str, status| {
            (0..6).fold(TraceBuilder::new(), |builder, _| list(builder, query, status)).client_broken()
        };
        assert_eq!(times("limit=500", 400), ["client.list-parameters"]);
        assert_eq!(times("status=lost", 422), ["client.list-parameters"]);
        assert_eq!(times("limit=500", 200), [""; 0]);
        assert_eq!(times("limit=5", 400), [""; 0]);
        let job = |builder: TraceBuilder, _| post(list(builder, "limit=5", 200), r#"{"name":1}"#, 400);
        assert_eq!(
            (0..6).fold(TraceBuilder::new(), job).client_broken(),
            ["client.new-pet"],
            "a job that does not learn"
        );
    }

    #[test]
    fn a_suite_that_runs_again_is_a_new_beginning() {
        let suite = |builder: TraceBuilder, _| {
            let builder = list(builder.create(7).get(7, Some("sold")), "limit=5", 200);
            list(post(builder, r#"{"name":1}"#, 400), "limit=500", 400)
        };
        assert_eq!((0..9).fold(TraceBuilder::new(), suite).client_broken(), [""; 0], "several other requests");
        let paused = |builder: TraceBuilder, _| list(builder, "limit=500", 400).wait(11);
        assert_eq!((0..9).fold(TraceBuilder::new(), paused).client_broken(), [""; 0], "a monitor");
        let run = |builder: TraceBuilder, connection: u64| {
            let on = |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection, others: 0 });
            let builder = list(builder, "limit=5", 200).change_last(on);
            list(builder, "limit=500", 400).change_last(on).wait(2)
        };
        assert_eq!((1..9).fold(TraceBuilder::new(), run).client_broken(), [""; 0], "each on a new connection");
    }
}
