//! An exchange with its request classified and its response parsed.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::request::{self, CreateBody, Credential, Operation};
use crate::sentence::{Sentence, Value, sentence};
use crate::trace::Context;
use crate::trace::exchange::{Exchange, Response};
use crate::trace::json::{Json, NotJson};
use crate::trace::knowledge::{Answerer, Fact};
use crate::trace::rate_limit::{self, RateHeaders, Window};
use crate::trace::retry_after::{self, RetryAfter};

/// An exchange with its request classified and its response parsed.
#[derive(Debug)]
pub struct Entry<'t> {
    /// The exchange.
    pub exchange: &'t Exchange,
    /// The operation that the request calls, with its parameters.
    pub operation: Operation,
    /// The credential of the request, classified.
    pub credential: Credential,
    /// The body of the response read as JSON, when there is a response with a body.
    pub json: Option<Result<Json, NotJson>>,
    /// The rate-limit headers of the response, when there is one.
    pub rate: Option<RateHeaders>,
    /// The server's time when it answered: its `Date`.
    pub(super) date: Option<Timestamp>,
    /// Whether the request fetches an animal at a time at which this operation may have been removed.
    pub(super) may_be_removed: bool,
    /// Whether the address of the client was locked out, so that the response shows nothing about the request.
    is_shut_out: bool,
}

/// The treatment of response bodies: pacing reads the trace again for each request, and needs none of them.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Body {
    Parsed,
    Ignored,
}

impl<'t> Entry<'t> {
    /// Reads an exchange. `names` holds the names of earlier creations; a creation adds its own.
    pub(super) fn read(
        exchange: &'t Exchange,
        context: &Context,
        names: &mut HashSet<String>,
        body: Body,
    ) -> Entry<'t> {
        let mut operation = match body {
            // The body may be long, and is not read. It may be anything.
            Body::Ignored if exchange.request.method == "POST" && exchange.request.path == "/pets" => {
                Operation::Create(CreateBody::Unclear)
            }
            _ => request::operation(&exchange.request, exchange.status(), context, names),
        };
        if let Operation::List(query) = &mut operation {
            query.unknown |= exchange.known.withheld.contains(Fact::Query);
        }
        if let Operation::Create(body) = &operation {
            names.extend(body.draft().and_then(|draft| draft.name.clone()));
        }
        let credential = request::credential_of(exchange, context);
        let response = exchange.service_response();
        Entry {
            exchange,
            operation,
            credential,
            json: response
                .filter(|response| body == Body::Parsed && !response.body.is_empty())
                .map(|response| Json::parse_foreign(&response.body)),
            rate: response.map(rate_limit::read),
            date: response.and_then(Response::date),
            may_be_removed: false,
            is_shut_out: false,
        }
    }

    /// The response of the service, if any.
    pub fn response(&self) -> Option<&'t Response> {
        self.exchange.service_response().filter(|_| !self.is_shut_out)
    }

    /// Leaves out the response, which the client got because its address was locked out.
    pub(super) fn shut_out(&mut self) {
        self.is_shut_out = true;
        (self.json, self.rate, self.date) = (None, None, None);
    }

    /// Returns true if the service answered, or had to, as it answers any client with this credential.
    pub fn is_of_service(&self) -> bool {
        self.exchange.known.answerer == Answerer::Service && !self.is_shut_out
    }

    /// Returns true if the response shows that the service took the credential for a valid key: the request was carried out, or refused for
    /// what is wrong with it otherwise.
    pub fn shows_acceptance(&self) -> bool {
        matches!(self.status(), Some(200..=299 | 400 | 404)) && self.is_of_operation() && !self.may_be_of_edge()
    }

    /// The status code, if there is a response of the service.
    pub fn status(&self) -> Option<u16> {
        self.response().map(|response| response.status)
    }

    /// Returns true if the service answered with a 2xx status code.
    pub fn succeeded(&self) -> bool {
        matches!(self.status(), Some(200..=299))
    }

    /// The window that the rate-limit header fields of the response report, if all three can be read.
    pub fn window(&self) -> Option<Window> {
        self.rate.as_ref()?.window()
    }

    /// Returns true if the response may be that of an intermediary or an HTTP library, which knows neither the Error nor the header fields
    /// of the service, and counts against no limit. It knows neither keys nor limits, so 401, 429 and a response with a window are the
    /// service's own. Anyone may refuse two credentials in any form.
    pub fn may_be_of_edge(&self) -> bool {
        let is_refusal = matches!(self.status(), Some(400 | 402..=428 | 430..=499));
        self.credential.is_malformed()
            || is_refusal && self.window().is_none() && request::may_be_refused_at_edge(&self.exchange.request)
    }

    /// Returns true if the response is that of an operation. Otherwise the specification states nothing about it, because it is that of
    /// an edge or of an unknown path: the fetch of an animal, once removed, is one, unless it succeeds or is limited all the same.
    pub fn is_of_operation(&self) -> bool {
        match self.operation {
            Operation::Elsewhere => false,
            // The rules of authentication judge all responses to a request with two credentials.
            _ if self.may_be_of_edge() && !self.credential.is_malformed() => false,
            Operation::Get(_) if self.may_be_removed => self.succeeded() || self.status() == Some(429),
            _ => true,
        }
    }

    /// The body of the response, if it is JSON.
    pub fn value(&self) -> Option<&Json> {
        self.json.as_ref().and_then(|json| json.as_ref().ok())
    }

    /// The server's time when it answered: its `Date`.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.date
    }

    /// Returns true if something between server and client wrote the `Date` of the response.
    pub fn has_foreign_date(&self) -> bool {
        self.date != self.exchange.response().and_then(Response::date)
    }

    /// The server's time when it answered, or without a `Date` the time of receipt by the judge's clock.
    pub fn answered_at(&self) -> Timestamp {
        self.date.unwrap_or(self.exchange.received_at)
    }

    /// The wait that the `Retry-After` of the response asks for, if it can be read.
    pub fn wait_asked_for(&self) -> Option<SignedDuration> {
        Some(self.retry_after()?.wait(self.answered_at()))
    }

    /// Returns true if the `Retry-After` of the response is a number of seconds, not a date.
    pub fn asks_in_seconds(&self) -> bool {
        matches!(self.retry_after(), Some(RetryAfter::Seconds(_)))
    }

    /// The `Retry-After` of the response, if it can be read.
    pub(crate) fn retry_after(&self) -> Option<RetryAfter> {
        retry_after::read(self.response()?).ok()
    }

    /// Returns true if a request with a valid key was refused with 429.
    pub fn is_limited(&self) -> bool {
        self.status() == Some(429) && self.key().is_some()
    }

    /// Returns true if a request with a valid key was answered by the service with a status code other than 429.
    pub fn is_admitted(&self) -> bool {
        self.key().is_some() && !matches!(self.status(), None | Some(429)) && !self.may_be_of_edge()
    }

    /// Returns true if the exchange was complete before the other request was sent, so that the server dealt with it first. No exchange
    /// precedes itself, even if it took no time by a coarse clock.
    pub fn precedes(&self, other: &Entry<'_>) -> bool {
        self.exchange.number < other.exchange.number && !other.time_since(self).is_negative()
    }

    /// The least time that passed between the completion of an earlier exchange and the sending of this one. The precision of their
    /// recorded times is subtracted.
    pub fn time_since(&self, earlier: &Entry<'_>) -> SignedDuration {
        let between = self.exchange.sent_at.duration_since(earlier.exchange.received_at);
        between.saturating_sub(self.exchange.known.precision.max(earlier.exchange.known.precision))
    }

    /// The longest time that may have passed on the server between an earlier exchange and this one: from the sending of the earlier
    /// request to the completion of this exchange.
    pub(crate) fn longest_since(&self, earlier: &Entry<'_>) -> SignedDuration {
        self.exchange.received_at.duration_since(earlier.exchange.sent_at)
    }

    /// The index of the key, if the request came with a valid key in the described form, or in another form that the service accepted.
    pub fn key(&self) -> Option<usize> {
        match self.credential {
            Credential::Valid(key) => Some(key),
            Credential::Ambiguous(key) => Some(key).filter(|_| self.shows_acceptance()),
            _ => None,
        }
    }

    /// The animals that the response shows, wherever they are well enough formed to be distinguished.
    pub fn animals(&self) -> Vec<Animal<'_>> {
        self.shown().iter().map(Animal).collect()
    }

    /// The animals in the response that have this id.
    pub fn animals_with(&self, id: i64) -> impl Iterator<Item = Animal<'_>> {
        self.shown().iter().map(Animal).filter(move |animal| animal.id() == Some(id))
    }

    pub(super) fn shown(&self) -> &[Json] {
        match (&self.operation, self.status(), self.value()) {
            (Operation::List(_), Some(200), Some(Json::Array(items))) => items,
            (Operation::Create(_), Some(201), Some(pet)) | (Operation::Get(_), Some(200), Some(pet)) => {
                std::slice::from_ref(pet)
            }
            _ => &[],
        }
    }
}

/// An animal in a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Animal<'c>(pub &'c Json);

impl<'c> Animal<'c> {
    /// `id`, if an int64.
    pub fn id(self) -> Option<i64> {
        self.0.get("id").and_then(Json::as_int64)
    }

    /// `name`, if a string.
    pub fn name(self) -> Option<&'c str> {
        self.0.get("name").and_then(Json::as_str)
    }

    /// `categoryId`, if an int64.
    pub fn category_id(self) -> Option<i64> {
        self.0.get("categoryId").and_then(Json::as_int64)
    }

    /// `status`, if a string.
    pub fn status(self) -> Option<&'c str> {
        self.0.get("status").and_then(Json::as_str)
    }

    /// A member as JSON, for sentences; `none` where it is missing.
    pub fn shown(self, member: &str) -> String {
        self.0.get(member).map_or_else(|| "none".to_owned(), Json::to_string)
    }
}

/// The status of a response and the operation it answers, for sentences.
pub(crate) fn answered(entry: &Entry<'_>) -> Sentence {
    match entry.status() {
        Some(status) => sentence!("{} on {}", Value::Status(status), entry.operation.name()),
        None => sentence!("no answer on {}", entry.operation.name()),
    }
}
