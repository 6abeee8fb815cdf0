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
use crate::request::{CreateBody, Fault, Operation, Parameter};
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::exchange::Request;
use crate::trace::hash;
use crate::trace::json::Json;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_clients("client.new-pet", |clients, memory, judgement| {
        let bodies = &mut memory.refused.bodies;
        judge_repetitions(clients, bodies, body_defect, "a body that is no NewPet", judgement);
    }),
    Rule::of_clients("client.list-parameters", |clients, memory, judgement| {
        let queries = &mut memory.refused.queries;
        judge_repetitions(clients, queries, query_defect, "a limit or status outside its range", judgement);
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

/// The bad requests that were refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    bodies: HashMap<Option<Key>, Session>,
    queries: HashMap<Option<Key>, Session>,
}

/// A client that may repeat a request: a connection, or everything that has one name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Repeater {
    Connection(u64),
    Agent(u64),
}

/// The requests of one client since its latest beginning.
#[derive(Clone, Debug, Default)]
struct Session {
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
    defect_of: fn(&Entry<'_>) -> Option<String>,
    described_defect: &'static str,
    judgement: &mut Judgement,
) {
    for (entry, sender) in clients.exchanges() {
        let session = sessions.entry(sender.key).or_default();
        session.begin(sender);
        let request = hash_of(&entry.exchange.request);
        if let Some(defect) = defect_of(entry) {
            let says_so = matches!(entry.status(), Some(400 | 415 | 422));
            match session.repeat(request, sender, says_so) {
                Some((earlier, times)) => judgement.fail(
                    &clients.evidence(entry, &[&earlier]),
                    sentence!("no further request with {}, after a refusal that says so", described_defect),
                    sentence!("{} was sent again with {}, {} times", described(entry), defect, times),
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

/// The certain defect of a body, in words that follow "with".
fn body_defect(entry: &Entry<'_>) -> Option<String> {
    if entry.exchange.known.withheld.contains(Fact::RequestBody) {
        return None;
    }
    let body = entry.exchange.request.body.as_ref();
    match &entry.operation {
        // A refusal shows that the server does not read an extension of JSON.
        Operation::Create(CreateBody::Malformed | CreateBody::Extended) => {
            let text = body.map_or_else(String::new, |body| String::from_utf8_lossy(&body.bytes).into_owned());
            Some(format!("{:?}, which is not JSON", cut(&text)))
        }
        // Only a 415 shows that the server does not accept this media type.
        Operation::Create(CreateBody::OtherMedia) if entry.status() == Some(415) => {
            Some(format!("the media type {:?}", body.map_or("", |body| body.content_type.as_str())))
        }
        Operation::Create(CreateBody::Faulty(faults, _)) => {
            let json = body.and_then(|body| Json::parse_foreign(&body.bytes).ok());
            let faults = faults.iter().filter(|fault| **fault != Fault::Unread);
            let found = faults.map(|fault| fault_in_words(*fault, json.as_ref()));
            Some(found.collect::<Vec<_>>().join(" and "))
        }
        _ => None,
    }
}

fn fault_in_words(fault: Fault, json: Option<&Json>) -> String {
    let Some(member) = fault.member() else {
        return format!("{} for an object", json.map_or_else(|| "nothing".to_owned(), |json| cut(&json.to_string())));
    };
    match json.and_then(|json| json.get(member)) {
        Some(value) => format!("{} as {member}", cut(&value.to_string())),
        None => format!("no {member}"),
    }
}

/// The text, or its first 40 characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn query_defect(entry: &Entry<'_>) -> Option<String> {
    let Operation::List(query) = &entry.operation else { return None };
    let mut defects: Vec<String> = Vec::new();
    if let Parameter::Ambiguous(text) = &query.limit {
        defects.push(format!("limit={text}"));
    }
    if let Parameter::Ambiguous(text) = &query.status {
        defects.push(format!("status={text}"));
    }
    (!defects.is_empty()).then(|| defects.join("&"))
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
