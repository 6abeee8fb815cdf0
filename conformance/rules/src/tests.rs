//! The tool of the unit tests of this crate: traces for single conditions, requests with a key, each with the response that the test
//! specifies.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::catalogue::Party;
use crate::catalogue::plan::PlanLimits;
use crate::facts::Facts;
use crate::history::History;
use crate::limits::{KeyLimits, Limiter};
use crate::rules::{Judgement, Rule, rules_of};
use crate::trace::exchange::{Exchange, Outcome, Request, Response};
use crate::trace::keys::ApiKey;
use crate::trace::knowledge::{Carrier, Extent, Knowledge};
use crate::trace::rate_limit::{FIELDS, LIMIT, REMAINING, RESET};
use crate::trace::{Context, Trace};

/// The time from each request to its response.
const ANSWERED_IN: SignedDuration = SignedDuration::from_millis(10);

/// A trace for a test. It begins at noon, in a minute whose end is 60 s off, and knows the keys `sk-Key1` and `sk-Other`.
pub(crate) struct TraceBuilder {
    trace: Trace,
    now: Timestamp,
    key: &'static str,
    /// The Unix time that responses report as the end of their window.
    reset: i64,
}

impl TraceBuilder {
    pub(crate) fn new() -> TraceBuilder {
        TraceBuilder::at("2026-06-01T12:00:00Z")
    }

    /// A trace that begins at another time.
    pub(crate) fn at(time: &str) -> TraceBuilder {
        let now: Timestamp = time.parse().expect("a time");
        let keys = ["sk-Key1", "sk-Other"].map(|key| ApiKey::new(key).expect("a usable key"));
        let context =
            Context { keys: keys.into_iter().collect(), ..Context::new(Extent::Run, "http://127.0.0.1:1/v1") };
        let trace = Trace { context, exchanges: Vec::new() };
        TraceBuilder { trace, now, key: "sk-Key1", reset: now.as_second() + 60 }
    }

    /// Gives the service this many addresses.
    pub(crate) fn fleet(mut self, addresses: usize) -> TraceBuilder {
        self.trace.context.replicas = (1..addresses).map(|at| format!("http://127.0.0.1:{}/v1", at + 1)).collect();
        self
    }

    /// Sends the last request to the replica in this place.
    pub(crate) fn replica(self, replica: usize) -> TraceBuilder {
        self.change_last(|exchange| exchange.request.replica = Some(replica))
    }

    /// Lets time pass.
    pub(crate) fn wait(mut self, seconds: i64) -> TraceBuilder {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    /// Lets this many milliseconds pass.
    pub(crate) fn wait_millis(mut self, milliseconds: i64) -> TraceBuilder {
        self.now += SignedDuration::from_millis(milliseconds);
        self
    }

    /// Lets later responses report a window that ends this many seconds from now.
    pub(crate) fn window(mut self, seconds: i64) -> TraceBuilder {
        self.reset = self.now.as_second() + seconds;
        self
    }

    /// Sends later requests with this key.
    pub(crate) fn key(mut self, key: &'static str) -> TraceBuilder {
        self.key = key;
        self
    }

    /// Adds a list request, answered with a status code, Remaining and Limit.
    pub(crate) fn list(self, status: u16, remaining: u64, limit: u64) -> TraceBuilder {
        let body = if status == 200 { "[]" } else { "" };
        self.ask(Request::new("GET", "/pets"), status, body.to_owned()).with_rate_limit(remaining, limit)
    }

    /// Adds list requests, one after the other, answered with these status codes and Remaining, and one Limit.
    pub(crate) fn lists(self, limit: u64, answers: &[(u16, u64)]) -> TraceBuilder {
        answers.iter().fold(self, |builder, (status, remaining)| builder.list(*status, *remaining, limit))
    }

    /// Adds a creation, answered with an animal of this id.
    pub(crate) fn create(self, id: i64) -> TraceBuilder {
        let sent = json!({"name": "Rex 1", "categoryId": 1, "status": "sold"});
        let request = Request::new("POST", "/pets").json(sent.to_string());
        self.ask(request, 201, animal(id, "sold"))
    }

    /// Adds a fetch, answered with an animal of this status, or with 404.
    pub(crate) fn get(self, id: i64, shown: Option<&str>) -> TraceBuilder {
        let status = if shown.is_some() { 200 } else { 404 };
        self.fetch(id, status, shown.map(|status| animal(id, status)).unwrap_or_default())
    }

    /// Adds a fetch, answered with this status code and body.
    pub(crate) fn fetch(self, id: i64, status: u16, body: String) -> TraceBuilder {
        self.ask(Request::new("GET", format!("/pets/{id}")), status, body)
    }

    /// Adds a creation, refused with a status code.
    pub(crate) fn refused_create(self, status: u16) -> TraceBuilder {
        let sent = json!({"name": "Rex 1", "categoryId": 1, "status": "sold"});
        self.ask(Request::new("POST", "/pets").json(sent.to_string()), status, String::new())
    }

    /// Adds a request with the key, answered without rate-limit header fields.
    pub(crate) fn ask(mut self, request: Request, status: u16, body: String) -> TraceBuilder {
        let date = httpdate::fmt_http_date(std::time::SystemTime::from(self.now));
        let headers = vec![("date".to_owned(), date)];
        let (sent_at, received_at) = (self.now, self.now + ANSWERED_IN);
        self.trace.exchanges.push(Exchange {
            number: self.trace.exchanges.len() + 1,
            probe: "sample".into(),
            step: String::new(),
            request: request.authorization(format!("Bearer {}", self.key)),
            outcome: Outcome::Response(Response { status, headers, body: body.into_bytes(), cut: false }),
            sent_at,
            received_at,
            known: Knowledge { carrier: Some(Carrier { connection: 1, others: 0 }), ..Knowledge::default() },
        });
        self.now = received_at;
        self
    }

    /// The last response.
    fn last(&mut self) -> &mut Response {
        match self.trace.exchanges.last_mut().map(|exchange| &mut exchange.outcome) {
            Some(Outcome::Response(response)) => response,
            _ => panic!("every exchange has an answer"),
        }
    }

    /// Gives the last response rate-limit header fields.
    pub(crate) fn with_rate_limit(mut self, remaining: u64, limit: u64) -> TraceBuilder {
        let reset = self.reset;
        let reported = [(LIMIT, limit.to_string()), (REMAINING, remaining.to_string()), (RESET, reset.to_string())];
        self.last().headers.extend(reported.map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Gives the last response a `Retry-After`.
    pub(crate) fn retry_after(self, text: &str) -> TraceBuilder {
        self.header("retry-after", text)
    }

    /// Gives the last response a further header field.
    pub(crate) fn header(mut self, name: &str, value: &str) -> TraceBuilder {
        self.last().headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the last request this many seconds earlier.
    pub(crate) fn slow(self, seconds: i64) -> TraceBuilder {
        self.change_last(|exchange| exchange.sent_at -= SignedDuration::from_secs(seconds))
    }

    /// Gives the last response a `Date` that is off by this many seconds.
    pub(crate) fn dated(self, seconds: i64) -> TraceBuilder {
        let date = self.now - ANSWERED_IN + SignedDuration::from_secs(seconds);
        self.dateless().header("date", &httpdate::fmt_http_date(std::time::SystemTime::from(date)))
    }

    /// Takes the `Date` from the last response.
    pub(crate) fn dateless(mut self) -> TraceBuilder {
        self.last().headers.retain(|(name, _)| name != "date");
        self
    }

    /// Takes the rate-limit header fields from the last response.
    pub(crate) fn without_rate_limit(mut self) -> TraceBuilder {
        self.last().headers.retain(|(name, _)| !FIELDS.contains(&name.as_str()));
        self
    }

    /// Makes these exchanges, counted from 1, end together: they were under way at the same time.
    pub(crate) fn together(mut self, numbers: std::ops::RangeInclusive<usize>) -> TraceBuilder {
        let end = self.trace.exchanges[numbers.end() - 1].received_at;
        for exchange in &mut self.trace.exchanges[numbers.start() - 1..*numbers.end()] {
            exchange.received_at = end;
        }
        self
    }

    /// Changes the last exchange.
    pub(crate) fn change_last(mut self, change: impl FnOnce(&mut Exchange)) -> TraceBuilder {
        change(self.trace.exchanges.last_mut().expect("an exchange"));
        self
    }

    /// Changes every exchange.
    pub(crate) fn change_each(mut self, change: impl FnMut(&mut Exchange)) -> TraceBuilder {
        self.trace.exchanges.iter_mut().for_each(change);
        self
    }

    /// Changes the facts that do not come from the exchanges.
    pub(crate) fn change_context(mut self, change: impl FnOnce(&mut Context)) -> TraceBuilder {
        change(&mut self.trace.context);
        self
    }

    /// Names the limits of the plan, as a user may.
    pub(crate) fn plan(self, plan_limits: Option<PlanLimits>) -> TraceBuilder {
        self.change_context(|context| context.plan_limits = plan_limits)
    }

    pub(crate) fn trace(self) -> Trace {
        self.trace
    }

    /// Asks for a fact about the limits of the main key.
    pub(crate) fn main_key<R>(self, ask: impl FnOnce(&KeyLimits<'_>) -> R) -> R {
        let history = History::new(&self.trace);
        let limiter = Limiter::new(&history);
        ask(&limiter.keys()[0])
    }

    /// The judgement of the rule for a requirement.
    pub(crate) fn judged_by(self, id: &str) -> Judgement {
        let mut rules = [Party::Server, Party::Client].into_iter().flat_map(rules_of);
        let rule = rules.find(|rule| rule.id == id).expect("a rule for the requirement");
        rule.judge(&Facts::new(&History::new(&self.trace)))
    }

    /// The exchanges of each failure of the rule for a requirement, by number.
    pub(crate) fn failures_of(self, id: &str) -> Vec<Vec<usize>> {
        self.judged_by(id).failures.into_iter().map(|failure| failure.exchanges).collect()
    }

    /// The requirements of clients that the trace breaks.
    pub(crate) fn client_broken(self) -> Vec<&'static str> {
        let history = History::new(&self.trace);
        let facts = Facts::new(&history);
        let broken = |rule: &Rule| !rule.judge(&facts).failures.is_empty();
        rules_of(Party::Client).into_iter().filter(broken).map(|rule| rule.id).collect()
    }

    /// The number of times that the rule for a requirement of clients was applied to the trace.
    pub(crate) fn client_judged(self, id: &str) -> usize {
        self.judged_by(id).judged
    }
}

/// An animal in JSON.
pub(crate) fn animal(id: i64, status: &str) -> String {
    json!({"id": id, "name": "Rex 1", "categoryId": 1, "status": status}).to_string()
}
