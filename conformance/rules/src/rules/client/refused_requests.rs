//! Requests that were refused as invalid and are sent again with the same defect: the client ignored the refusal.
//!
//! A bad request may be sent once, in a test or by mistake. Only a certainly bad request counts, and only after a refusal that says
//! so. Requests are compared by their defect: a body without `categoryId` lacks it whatever else it has. If all else is equal, the
//! second request is a failure; if other values differ, as in the cases of a test, the fourth is.
//!
//! A test suite that runs again is a new beginning. It shows in a pause, in a new connection after the end of one that carried several
//! requests, in the same requests once more, or in several other defects since: a client that did not learn repeats one request.

use std::collections::{HashMap, VecDeque};

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
        judge_repetitions(
            clients,
            &mut memory.refused.bodies,
            |defects| defects.body,
            "a body that is no NewPet",
            judgement,
        );
    }),
    Rule::of_clients("client.list-parameters", |clients, memory, judgement| {
        judge_repetitions(
            clients,
            &mut memory.refused.queries,
            |defects| defects.query,
            "a limit or status outside its range",
            judgement,
        );
    }),
];

/// The number of refusals of one defect, each with other values, after which a further request with the defect is a failure.
const CASES: usize = 3;

/// A pause after which the requests may belong to another run of the client.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// The number of requests before two like ones that are compared.
const SEQUENCE: usize = 8;

/// The least number of different requests that make a sequence. Two are enough if they are the first ones of a session: the same beginning
/// is a beginning.
const LEAST_SEQUENCE: usize = 3;

/// The least number of other defects that were refused between two like requests of two runs of a suite.
const LEAST_DEFECTS: usize = 2;

/// The least number of punctuation marks that show the format of a body that is not JSON.
const LEAST_MARKS: usize = 3;

/// The number of refusals that are compared.
const MOST_REFUSED: usize = 64;

/// The largest number of defects that are remembered for each key.
const MAX_DEFECTS: usize = 10_000;

/// The bad requests that were refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    bodies: HashMap<Option<Key>, Session>,
    queries: HashMap<Option<Key>, Session>,
}

/// The requests of one client since its latest beginning.
#[derive(Clone, Debug, Default)]
struct Session {
    latest: Option<Timestamp>,
    /// The present connection, and the number of requests that it carried.
    connection: (u64, usize),
    /// The kinds of the latest requests.
    kinds: VecDeque<u64>,
    /// The kinds of the latest requests that were refused for a defect, of bodies and queries alike.
    refused: VecDeque<u64>,
    defects: HashMap<u64, Defect>,
}

/// The certain defects of a request, in words that follow "with".
#[derive(Default, Eq, Hash, PartialEq)]
struct Defects {
    body: Option<String>,
    query: Option<String>,
}

/// The refusals of one defect.
#[derive(Clone, Debug)]
struct Defect {
    first: Sender,
    refusals: usize,
    /// The refusals of each request, by the hash of the whole request.
    requests: HashMap<u64, Refusals>,
}

/// The refusals of one request.
#[derive(Clone, Debug)]
struct Refusals {
    latest: Sender,
    times: usize,
    /// The kinds of the requests before the latest one.
    before: Vec<u64>,
}

fn judge_repetitions(
    clients: &Clients<'_>,
    sessions: &mut HashMap<Option<Key>, Session>,
    of_rule: fn(Defects) -> Option<String>,
    described_defect: &'static str,
    judgement: &mut Judgement,
) {
    for (entry, sender) in clients.exchanges() {
        let session = sessions.entry(sender.key).or_default();
        session.begin(sender);
        let defects = Defects { body: body_defect(entry), query: query_defect(entry) };
        let says_so = matches!(entry.status(), Some(400 | 415 | 422)) && defects != Defects::default();
        let kind = hash(&(&entry.exchange.request.method, entry.operation.name(), &defects));
        if let Some(text) = of_rule(defects) {
            let request = hash_of(&entry.exchange.request);
            match session.earlier(kind, hash(&text), request, sender) {
                Some((first, is_same)) => judgement.fail(
                    &clients.evidence(entry, &[&first]),
                    sentence!("no further request with {}, after a refusal that says so", described_defect),
                    if is_same {
                        sentence!("{} was sent again with {}", described(entry), text.clone())
                    } else {
                        sentence!("{} was sent with {}, as others before it", described(entry), text.clone())
                    },
                ),
                None if says_so => judgement.hold(),
                None => {}
            }
            if says_so {
                session.refuse(hash(&text), request, sender);
            }
        }
        note(&mut session.kinds, kind, SEQUENCE);
        if says_so {
            note(&mut session.refused, kind, MOST_REFUSED);
        }
    }
}

/// Adds the kind of a request to the latest ones, and forgets the earliest one if there are more than this number.
fn note(kinds: &mut VecDeque<u64>, kind: u64, most: usize) {
    if kinds.len() >= most {
        kinds.pop_front();
    }
    kinds.push_back(kind);
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

    /// The earlier refusal that a request disregards, and whether that refusal was of the same request.
    fn earlier(&self, kind: u64, defect: u64, request: u64, sender: &Sender) -> Option<(Sender, bool)> {
        if self.begins_anew(kind) {
            return None;
        }
        let defect = self.defects.get(&defect)?;
        if let Some(Refusals { latest, times, before }) = defect.requests.get(&request) {
            // Two requests, each on a connection of its own, may be those of two processes.
            let is_known = latest.is_known_to(sender) || *times > 1 && latest.is_followed_alone_by(sender);
            return (is_known && !self.repeats(before)).then_some((*latest, true));
        }
        (defect.refusals >= CASES && defect.first.is_known_to(sender)).then_some((defect.first, false))
    }

    /// Returns true if the requests before an earlier one were sent again before the present one.
    fn repeats(&self, before: &[u64]) -> bool {
        let mut different = before.to_vec();
        different.sort_unstable();
        different.dedup();
        let is_beginning = before.len() + 1 == LEAST_SEQUENCE;
        different.len() + usize::from(is_beginning) >= LEAST_SEQUENCE
            && self.kinds.iter().rev().take(before.len()).eq(before.iter().rev())
    }

    /// Returns true if several other defects were refused since the latest refusal of a request of this kind.
    fn begins_anew(&self, kind: u64) -> bool {
        let mut others: Vec<u64> = self.refused.iter().rev().copied().take_while(|other| *other != kind).collect();
        others.sort_unstable();
        others.dedup();
        others.len() >= LEAST_DEFECTS
    }

    fn refuse(&mut self, defect: u64, request: u64, sender: &Sender) {
        if self.defects.len() >= MAX_DEFECTS {
            return;
        }
        let none = Defect { first: *sender, refusals: 0, requests: HashMap::new() };
        let known = self.defects.entry(defect).or_insert(none);
        known.refusals += 1;
        if known.requests.len() < MAX_DEFECTS {
            let times = known.requests.get(&request).map_or(1, |refusals| refusals.times + 1);
            let before = self.kinds.iter().copied().collect();
            known.requests.insert(request, Refusals { latest: *sender, times, before });
        }
    }
}

/// The certain defect of a body, in words that follow "with". The cases of a test are different defects: they differ in the wrong
/// value, or in the members that stand in place of a missing one.
fn body_defect(entry: &Entry<'_>) -> Option<String> {
    if entry.exchange.known.withheld.contains(Fact::RequestBody) {
        return None;
    }
    let body = entry.exchange.request.body.as_ref();
    match &entry.operation {
        // A refusal shows that the server does not read an extension of JSON.
        Operation::Create(CreateBody::Malformed | CreateBody::Extended) => {
            let text = body.map_or_else(String::new, |body| String::from_utf8_lossy(&body.bytes).into_owned());
            // Bodies that differ only in words and numbers have one defect: they are written in another format.
            let marks: String = text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).collect();
            Some(match marks.len() {
                LEAST_MARKS.. => format!("a body in another format than JSON, with the marks {}", cut(&marks)),
                _ => format!("{:?}, which is not JSON", cut(&text)),
            })
        }
        // Only a 415 shows that the server does not accept this media type.
        Operation::Create(CreateBody::OtherMedia) if entry.status() == Some(415) => {
            Some(format!("the media type {:?}", body.map_or("", |body| body.content_type.as_str())))
        }
        Operation::Create(CreateBody::Faulty(faults, _)) => {
            let json = body.and_then(|body| Json::parse_foreign(&body.bytes).ok());
            let found = faults.iter().map(|fault| fault_in_words(*fault, json.as_ref()));
            let mut defect = found.collect::<Vec<_>>().join(" and ");
            let unknown = json.iter().flat_map(unknown_members).collect::<Vec<_>>().join(", ");
            if !unknown.is_empty() {
                defect.push_str(&format!(" beside {unknown}"));
            }
            Some(defect)
        }
        _ => None,
    }
}

/// The names of the members that a NewPet does not have, in order.
fn unknown_members(json: &Json) -> Vec<String> {
    let Json::Object(members) = json else { return Vec::new() };
    let unknown = members.iter().filter(|(name, _)| !["name", "categoryId", "status"].contains(&name.as_str()));
    let mut names: Vec<String> = unknown.map(|(name, _)| cut(name)).collect();
    names.sort_unstable();
    names
}

fn fault_in_words(fault: Fault, json: Option<&Json>) -> String {
    let Some(member) = fault.member() else {
        return format!("{} for an object", json.map_or_else(|| "nothing".to_owned(), |json| cut(&json.to_string())));
    };
    match json.and_then(|json| json.get(member)) {
        // A form has texts for all values, so this is one defect whatever the integer is.
        Some(value) if member == "categoryId" && is_quoted_integer(value) => {
            format!("an integer in quotation marks as {member}")
        }
        Some(value) => format!("{} as {member}", cut(&value.to_string())),
        None => format!("no {member}"),
    }
}

fn is_quoted_integer(value: &Json) -> bool {
    value.as_str().is_some_and(|text| text.parse::<i64>().is_ok())
}

/// The text, or its first 40 characters with a hash that distinguishes it from others.
fn cut(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MOST).collect();
    format!("{beginning}… ({:x})", hash(&text))
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
    use crate::trace::exchange::Exchange;
    use crate::trace::knowledge::Carrier;
    use crate::trace_builder::TraceBuilder;

    fn post(builder: TraceBuilder, body: &str, status: u16) -> TraceBuilder {
        builder.ask(Request::new("POST", "/pets").json(body), status, String::new())
    }

    fn list(builder: TraceBuilder, query: &str, status: u16) -> TraceBuilder {
        builder.ask(Request::new("GET", "/pets").query(query), status, "[]".to_owned())
    }

    fn sent(bodies: &[&str]) -> Vec<&'static str> {
        bodies.iter().fold(TraceBuilder::new(), |builder, body| post(builder, body, 400)).client_broken()
    }

    #[test]
    fn the_same_bad_body_after_a_refusal_shows_that_the_client_did_not_learn() {
        assert_eq!(sent(&[r#"{"name":1}"#, r#"{"name":1}"#]), ["client.new-pet"]);
        assert_eq!(sent(&[r#"{"name":1}"#, r#"{"name":2}"#]), [""; 0], "each bad body once, as tests send them");
        let valid = r#"{"name":"Rex","categoryId":1}"#;
        assert_eq!(sent(&[valid, valid]), [""; 0], "the server was wrong to refuse it");
        for status in [415, 422] {
            let twice = (0..2).fold(TraceBuilder::new(), |builder, _| post(builder, "{", status));
            assert_eq!(twice.client_broken(), ["client.new-pet"], "{status}");
        }
    }

    #[test]
    fn bodies_are_compared_by_their_defect() {
        let other_order = [r#"{"name":"Rex","status":"sold"}"#, r#"{ "status":"sold","name":"Rex"}"#];
        assert_eq!(sent(&other_order), ["client.new-pet"]);
        let names: Vec<String> = (0..8).map(|number| format!(r#"{{"name":"Rex {number}"}}"#)).collect();
        assert_eq!(sent(&names.iter().map(String::as_str).collect::<Vec<_>>()), ["client.new-pet"]);
        let texts: Vec<String> =
            (5..9).map(|number| format!(r#"{{"name":"Rex {number}","categoryId":"{number}"}}"#)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(sent(&texts), ["client.new-pet"], "every value of a form is a text");
        assert_eq!(sent(&texts[1..]), [""; 0]);
        let cases = [
            r#"{"name":1}"#,
            r#"{"name":2}"#,
            r#"{"name":null}"#,
            r#"{"name":[]}"#,
            r#"{"name":"Rex"}"#,
            r#"{"name":"Rex","categoryid":1}"#,
            r#"{"name":"Rex","CategoryId":1}"#,
            r#"{"name":"Rex","category_id":1}"#,
            r#"{"name":"Rex","categoryId":"1"}"#,
            r#"{"name":"Rex","categoryId":1.5}"#,
            r#"{"name":"Rex","categoryId":1,"status":"lost"}"#,
            r#"{"name":"Rex","categoryId":1,"status":"SOLD"}"#,
            "{",
            "nope",
            "[]",
            "7",
            "",
        ];
        assert_eq!(sent(&cases), [""; 0], "the cases of a test");
    }

    #[test]
    fn the_same_bad_query_after_a_refusal_shows_that_the_client_did_not_learn() {
        let twice = |query: &str, status| list(list(TraceBuilder::new(), query, status), query, status).client_broken();
        assert_eq!(twice("limit=500", 400), ["client.list-parameters"]);
        assert_eq!(twice("status=lost", 422), ["client.list-parameters"]);
        assert_eq!(twice("limit=500", 200), [""; 0], "the server took it, so there was nothing to learn");
        assert_eq!(twice("limit=5", 400), [""; 0]);
        let pages =
            (1..=5).fold(TraceBuilder::new(), |builder, page| list(builder, &format!("limit=1000&page={page}"), 400));
        assert_eq!(pages.client_broken(), ["client.list-parameters"]);
        let limits = ["limit=0", "limit=-1", "limit=101", "limit=ten", "limit=1000"];
        let limits = limits.iter().fold(TraceBuilder::new(), |builder, query| list(builder, query, 400));
        assert_eq!(limits.client_broken(), [""; 0], "the cases of a test");
    }

    #[test]
    fn a_suite_that_runs_again_is_a_new_beginning() {
        let suite = |builder: TraceBuilder| {
            let builder = list(builder.create(7).get(7, Some("sold")), "limit=5", 200);
            list(post(builder, r#"{"name":1}"#, 400), "limit=500", 400)
        };
        assert_eq!(suite(suite(TraceBuilder::new())).client_broken(), [""; 0], "the same sequence");
        assert_eq!(post(suite(TraceBuilder::new()).wait(60), r#"{"name":1}"#, 400).client_broken(), [""; 0], "a pause");
        let short = |builder: TraceBuilder| {
            let builder = list(builder.create(7), "limit=5", 200);
            list(post(post(builder, r#"{"name":1}"#, 400), "[]", 400), "limit=500", 400)
        };
        assert_eq!(short(short(short(TraceBuilder::new()))).client_broken(), [""; 0], "from the beginning");
        let refused = |builder: TraceBuilder, queries: &[&str]| {
            queries.iter().fold(builder, |builder, query| list(builder, query, 400)).client_broken()
        };
        let (zero, large, word) = ("limit=0", "limit=101", "limit=ten");
        assert_eq!(refused(TraceBuilder::new(), &[zero, large, word, zero, large, word]), [""; 0], "three defects");
        let rule = "client.list-parameters";
        assert_eq!(refused(TraceBuilder::new(), &[zero, large, word, word]), [rule], "one request again");
        assert_eq!(refused(TraceBuilder::new(), &[zero, large, zero]), [rule], "two requests in turn");
        let job = |builder: TraceBuilder| post(list(builder, "limit=5", 200), r#"{"name":1}"#, 400);
        assert_eq!(job(job(TraceBuilder::new())).client_broken(), ["client.new-pet"], "a job that does not learn");
    }

    #[test]
    fn a_new_connection_after_the_end_of_another_one_is_a_new_run() {
        let run = |builder: TraceBuilder, connection: u64, bodies: &[&str]| {
            let on = |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection, others: 0 });
            bodies.iter().fold(builder, |builder, body| post(builder, body, 400).change_last(on).wait(2))
        };
        let (one, other) = (r#"{"name":1}"#, r#"{"name":2}"#);
        assert_eq!(run(run(TraceBuilder::new(), 1, &[one, other]), 2, &[other, one]).client_broken(), [""; 0]);
        assert_eq!(run(TraceBuilder::new(), 1, &[one, other, one]).client_broken(), ["client.new-pet"]);
        let each_on_its_own = run(run(TraceBuilder::new(), 1, &[one]), 2, &[one]);
        assert_eq!(each_on_its_own.client_broken(), ["client.new-pet"]);
    }

    #[test]
    fn bodies_in_another_format_have_one_defect() {
        let rows: Vec<String> = (1..=5).map(|row| format!("name=Rex {row}&categoryId={row}")).collect();
        assert_eq!(sent(&rows.iter().map(String::as_str).collect::<Vec<_>>()), ["client.new-pet"]);
        assert_eq!(sent(&["a", "{", "nope", "name", "]", "Rex 7"]), [""; 0], "the cases of a test");
        let comma = r#"{"name":"Rex","categoryId":1,}"#;
        assert_eq!(sent(&[comma, comma]), ["client.new-pet"], "a server may read it, but this one does not");
    }
}
