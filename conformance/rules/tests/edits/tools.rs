//! What edits are made of: exchanges are picked by what they mean, and their answers are changed.

use std::time::{Duration, UNIX_EPOCH};

use animal_store_rules::history::{Entry, History};
use animal_store_rules::request::Operation;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Response};
use animal_store_rules::trace::rate_limit::{self, Window};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// The places of the exchanges that are picked.
pub(super) fn places(trace: &Trace, pick: impl Fn(&Entry<'_>) -> bool) -> Vec<usize> {
    let history = History::new(trace);
    history.entries.iter().enumerate().filter(|(_, entry)| pick(entry)).map(|(at, _)| at).collect()
}

/// Changes every answer.
pub(super) fn every(trace: &mut Trace, change: impl FnMut(&mut Response)) {
    trace.exchanges.iter_mut().map(answer).for_each(change);
}

/// Changes the answer of every exchange that is picked, of which there may be none.
pub(super) fn each(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool, mut change: impl FnMut(&mut Response)) {
    for at in places(trace, pick) {
        change(answer(&mut trace.exchanges[at]));
    }
}

/// Changes the answers of all exchanges that are picked. There must be one.
pub(super) fn all(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool, mut change: impl FnMut(&mut Response)) {
    let places = places(trace, pick);
    assert!(!places.is_empty(), "there is nothing to edit");
    for at in places {
        change(answer(&mut trace.exchanges[at]));
    }
}

/// Changes the answer of the last exchange that is picked. There must be one.
pub(super) fn last(trace: &mut Trace, pick: impl Fn(&Entry<'_>) -> bool, change: impl FnOnce(&mut Response)) {
    let at = *places(trace, pick).last().expect("there is nothing to edit");
    change(answer(&mut trace.exchanges[at]));
}

/// The answer of an exchange. Every recorded one has an answer.
pub(super) fn answer(exchange: &mut Exchange) -> &mut Response {
    match &mut exchange.outcome {
        Outcome::Response(response) => response,
        Outcome::Failed(_) => panic!("a recorded exchange has an answer"),
    }
}

/// Whether this is an answer to a valid key with this status.
pub(super) fn keyed(entry: &Entry<'_>, status: u16) -> bool {
    entry.key().is_some() && entry.status() == Some(status)
}

/// A list that was answered with animals, or with none.
pub(super) fn listed(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::List(_)) && keyed(entry, 200)
}

/// A list with this query, answered with 200.
pub(super) fn listed_by(query: &str) -> impl Fn(&Entry<'_>) -> bool + '_ {
    move |entry| listed(entry) && entry.exchange.request.query.as_deref().unwrap_or("") == query
}

/// A creation that was answered with the animal.
pub(super) fn created(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::Create(_)) && keyed(entry, 201)
}

/// A fetch that was answered with the animal.
pub(super) fn fetched(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::Get(_)) && keyed(entry, 200)
}

/// A request with a valid key that was refused for the rate.
pub(super) fn limited(entry: &Entry<'_>) -> bool {
    keyed(entry, 429)
}

/// Whether the body of the request is this one, whatever stands for `NAME`.
pub(super) fn sent(entry: &Entry<'_>, part: &str) -> bool {
    let body = entry.exchange.request.body.as_ref().map_or(&[][..], |body| &body.bytes);
    String::from_utf8_lossy(body).contains(part)
}

/// The body, read as JSON.
pub(super) fn json_of(response: &Response) -> Option<Value> {
    serde_json::from_slice(&response.body).ok()
}

/// Puts a value in place of the body.
pub(super) fn set_json(response: &mut Response, value: &Value) {
    response.body = value.to_string().into_bytes();
    set(response, "content-type", "application/json");
}

/// Changes the body. Where another edit has taken the JSON away, it is an Error first.
pub(super) fn edit(response: &mut Response, change: impl FnOnce(&mut Value)) {
    if json_of(response).is_none() {
        refuse(response, response.status);
    }
    let mut value = json_of(response).expect("a body of JSON");
    change(&mut value);
    response.body = value.to_string().into_bytes();
}

/// Changes every animal of the body: that of a Pet, or all of a list.
pub(super) fn animals(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().collect(),
        pet => vec![pet],
    }
}

/// Gives a header field this one value.
#[expect(clippy::needless_pass_by_value, reason = "what is set is a number or a text just made")]
pub(super) fn set(response: &mut Response, name: &str, value: impl ToString) {
    remove(response, name);
    response.headers.push((name.to_owned(), value.to_string()));
}

/// Takes a header field away.
pub(super) fn remove(response: &mut Response, name: &str) {
    response.headers.retain(|(field, _)| field != name);
}

/// Makes the answer an Error with this status.
pub(super) fn refuse(response: &mut Response, status: u16) {
    response.status = status;
    set_json(response, &json!({"code": "refused", "message": "No.", "status": status}));
}

/// Makes the answer one without a body.
pub(super) fn empty(response: &mut Response, status: u16) {
    response.status = status;
    response.body.clear();
    remove(response, "content-type");
}

/// What the rate-limit headers say.
pub(super) fn window(response: &Response) -> Window {
    rate_limit::read(response).window().expect("rate-limit headers")
}

/// Changes a header field that is an integer, if there is one.
pub(super) fn recount(response: &mut Response, name: &str, change: impl FnOnce(i64) -> i64) {
    if let Some(integer) = response.header(name).and_then(|text| text.parse().ok()) {
        set(response, name, change(integer));
    }
}

/// The server's time in Unix seconds.
pub(super) fn server_time(response: &Response) -> i64 {
    response.date().expect("a Date").as_second()
}

/// A Unix time as an HTTP-date.
pub(super) fn http_date(unix: i64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix.unsigned_abs()))
}

/// Lets time pass on the judge's clock between creations and the read that comes next, so that it may not lag them.
pub(super) fn settle(trace: &mut Trace) {
    let (mut late, mut created) = (SignedDuration::ZERO, false);
    for exchange in &mut trace.exchanges {
        if created && exchange.request.method == "GET" {
            late += Tolerance::READ_LAG.duration();
            created = false;
        }
        created |= exchange.status() == Some(201);
        exchange.sent_at += late;
        exchange.received_at += late;
    }
}

/// Gives the exchanges their numbers anew, after some were taken away or put in.
pub(super) fn renumber(trace: &mut Trace) {
    for (at, exchange) in trace.exchanges.iter_mut().enumerate() {
        exchange.number = at + 1;
    }
}
