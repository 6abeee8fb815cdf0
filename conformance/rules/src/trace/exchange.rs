//! A request and its outcome.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::trace::http_date;
use crate::trace::json::Json;
use crate::trace::knowledge::{Answerer, Knowledge};

/// The longest part of a body that is read, in bytes. A list of 100 animals with names of 64 KiB fits.
pub const MAX_BODY: usize = 8 * 1024 * 1024;

/// A request as it was sent, relative to the base URL.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path below the base URL, with its leading slash: `/pets/7`.
    pub path: String,
    /// The query, without the question mark, as it stands in the URL.
    pub query: Option<String>,
    /// The value of the `Authorization` header. It holds a key: show it through a redactor only.
    pub authorization: Option<String>,
    /// Further header fields that the probe set.
    pub headers: Vec<(String, String)>,
    /// The body and its media type.
    pub body: Option<Body>,
    /// The connection that carries the request.
    pub connection: Connection,
    /// The index of the address of the service, where there are several: 0 for the base URL, then its replicas in order.
    pub replica: Option<usize>,
}

/// The header field whose value `chunked` announces a body in chunks.
const TRANSFER_ENCODING: &str = "Transfer-Encoding";

/// The connection that a request is sent on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Connection {
    /// A new connection, for this request only.
    #[default]
    Own,
    /// The connection that is kept open for such requests, one after the other, until the server closes it.
    Kept,
}

/// A request body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The value of `Content-Type`; empty for none.
    pub content_type: String,
    /// The body as it is sent.
    pub bytes: Vec<u8>,
}

impl Request {
    /// A request without credential, query or body.
    pub fn new(method: &str, path: impl Into<String>) -> Request {
        Request {
            method: method.to_owned(),
            path: path.into(),
            query: None,
            authorization: None,
            headers: Vec::new(),
            body: None,
            connection: Connection::Own,
            replica: None,
        }
    }

    /// The request with this query, given without the question mark.
    #[must_use]
    pub fn query(mut self, query: impl Into<String>) -> Request {
        self.query = Some(query.into());
        self
    }

    /// The request with this `Authorization` value.
    #[must_use]
    pub fn authorization(mut self, value: impl Into<String>) -> Request {
        self.authorization = Some(value.into());
        self
    }

    /// The request with a further header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Request {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The request with a body labelled `application/json`. The bytes need not be JSON.
    #[must_use]
    pub fn json(self, bytes: impl Into<Vec<u8>>) -> Request {
        self.body("application/json", bytes)
    }

    /// The request with a body of any media type.
    #[must_use]
    pub fn body(mut self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Request {
        self.body = Some(Body { content_type: content_type.to_owned(), bytes: bytes.into() });
        self
    }

    /// The request with its body sent in chunks, so that no length precedes it.
    #[must_use]
    pub fn chunked(self) -> Request {
        self.header(TRANSFER_ENCODING, "chunked")
    }

    /// Returns true if the body is sent in chunks, so that no length precedes it.
    pub fn is_chunked(&self) -> bool {
        self.further(TRANSFER_ENCODING).next().is_some()
    }

    /// Every `Authorization` value. A second one is among the further header fields.
    pub fn authorizations(&self) -> impl Iterator<Item = &str> {
        self.authorization.as_deref().into_iter().chain(self.further("authorization"))
    }

    /// The values of a header field among the further ones, given in any case.
    pub(crate) fn further(&self, name: &'static str) -> impl Iterator<Item = &str> {
        let fields = self.headers.iter().filter(move |(field, _)| field.eq_ignore_ascii_case(name));
        fields.map(|(_, value)| value.as_str())
    }

    /// The request on the connection that is kept open.
    #[must_use]
    pub fn kept(mut self) -> Request {
        self.connection = Connection::Kept;
        self
    }

    /// The request to the address with this index, if one is given; else to any address of the service.
    #[must_use]
    pub fn at(self, replica: Option<usize>) -> Request {
        Request { replica, ..self }
    }

    /// Returns true if the request has a query that is not empty.
    pub(crate) fn has_query(&self) -> bool {
        self.query.as_deref().is_some_and(|query| !query.is_empty())
    }

    /// Path and query, as they follow the base URL.
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

impl fmt::Debug for Request {
    // Any other part may hold a key, so none is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} …)", self.method)
    }
}

/// A response, read to its end or to [`MAX_BODY`].
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header fields in the order of arrival, names in lower case, duplicates kept, bytes that are not text replaced.
    pub headers: Vec<(String, String)>,
    /// The body, cut at [`MAX_BODY`]; empty if it is [too long](Response::is_too_long).
    pub body: Vec<u8>,
    /// Whether the body was longer than [`MAX_BODY`], or in chunks with longer extensions than the judge reads.
    pub cut: bool,
}

impl Response {
    /// Every value of a header field, given in lower case.
    pub fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.headers.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a header field, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The media type without parameters, in lower case; where several fields name different ones, all of them: `text/html and text/plain`.
    pub fn media_type(&self) -> Option<String> {
        let mut named: Vec<String> = Vec::new();
        for value in self.values("content-type") {
            let media_type = value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase();
            if !named.contains(&media_type) {
                named.push(media_type);
            }
        }
        (!named.is_empty()).then(|| named.join(" and "))
    }

    /// The last content coding that the body is labelled with, unless it is `identity`.
    pub fn content_coding(&self) -> Option<&str> {
        let codings = self.values("content-encoding").flat_map(|value| value.split(',')).map(str::trim);
        codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")).last()
    }

    /// The content coding of a body that the judge cannot decode, if it has one. The judge decodes gzip, so a body that is labelled as gzip
    /// and is not JSON is a defect of the response.
    pub fn unreadable_coding(&self) -> Option<&str> {
        let coding = self.content_coding().filter(|_| !self.body.is_empty() && Json::parse(&self.body).is_err())?;
        (!is_gzip(self.header("content-encoding")?)).then_some(coding)
    }

    /// Returns true if the body is longer than the judge reads although it would have ended: it has an announced length, or its chunks have
    /// long extensions.
    pub fn is_too_long(&self) -> bool {
        self.cut && (self.header("content-length").is_some() || self.body.is_empty())
    }

    /// The server's time by its `Date` header field, to the second.
    pub fn date(&self) -> Option<Timestamp> {
        http_date::read(self.header("date")?)
    }
}

/// Returns true if a value of `Content-Encoding` names gzip only.
pub fn is_gzip(coding: &str) -> bool {
    ["gzip", "x-gzip"].iter().any(|name| coding.trim().eq_ignore_ascii_case(name))
}

/// The reason why a request got no complete response.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// No connection could be made: nothing listens, or it took too long.
    Connect,
    /// The host's name does not resolve.
    Unresolved,
    /// The connection stands, but TLS could not be agreed on.
    Tls,
    /// The certificate is not issued by a trusted authority.
    Untrusted,
    /// The server does not speak TLS.
    NotTls,
    /// The server demands a certificate of the client, or does not accept its certificate.
    ClientCertificate,
    /// The server offers other versions of HTTP than 1.1 only.
    NotHttp1,
    /// The answer was not complete within the timeout.
    Timeout,
    /// The connection ended before any part of a response came.
    Closed,
    /// As [`Closed`](FailureKind::Closed), but by a reset, or while the request was being sent: the server had not read all of it. A
    /// response that it had sent may be lost with the connection (RFC 9112 section 9.6).
    Reset,
    /// The connection ended within a response, or the response is not valid HTTP.
    Broken,
}

impl FailureKind {
    /// Returns true if the connection ended before any part of a response came.
    #[must_use]
    pub fn is_end(self) -> bool {
        matches!(self, FailureKind::Closed | FailureKind::Reset)
    }

    /// Returns true if the failure is one of TLS.
    #[must_use]
    pub fn is_of_tls(self) -> bool {
        use FailureKind::{ClientCertificate, NotHttp1, NotTls, Tls, Untrusted};
        matches!(self, Tls | Untrusted | NotTls | ClientCertificate | NotHttp1)
    }
}

/// A request that got no complete response.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The reason, classified.
    pub kind: FailureKind,
    /// The message of the HTTP client.
    pub detail: String,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A response, complete or cut at [`MAX_BODY`].
    Response(Response),
    /// A failure before the response was complete.
    Failed(Failure),
}

/// A request, its outcome, and the times of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The number of the exchange in its trace, from 1.
    pub number: usize,
    /// The name of the probe that sent the request: for display only, no rule uses it.
    pub probe: Cow<'static, str>,
    /// The request without names, ids and keys, which is equal in every run. Empty where requests are generated.
    pub step: String,
    /// The request as it was sent.
    pub request: Request,
    /// The response, or the failure to get one.
    pub outcome: Outcome,
    /// The time just before the first byte was sent, by the judge's clock.
    pub sent_at: Timestamp,
    /// The time at which the outcome was complete, by the judge's clock.
    pub received_at: Timestamp,
    /// The facts that a recording adds to the messages or withholds. The default for an exchange of the judge itself.
    pub known: Knowledge,
}

impl Exchange {
    /// Returns true if the response may be lost: the connection ended before the server had read a body that is longer than what the
    /// buffers of a connection take. A server may refuse such a body unread.
    pub fn may_have_lost_its_response(&self) -> bool {
        const BUFFERED: usize = 64 * 1024;
        let is_reset = matches!(&self.outcome, Outcome::Failed(failure) if failure.kind == FailureKind::Reset);
        is_reset && self.request.body.as_ref().is_some_and(|body| body.bytes.len() > BUFFERED)
    }

    /// The identifier of the animal that the response shows as created.
    pub fn created_id(&self) -> Option<i64> {
        let response = self.response().filter(|response| response.status == 201)?;
        Json::parse(&response.body).ok()?.get("id")?.as_int64()
    }

    /// The response, if there is one.
    pub fn response(&self) -> Option<&Response> {
        match &self.outcome {
            Outcome::Response(response) => Some(response),
            Outcome::Failed(_) => None,
        }
    }

    /// The response, if the service gave it and not an intermediary.
    pub fn service_response(&self) -> Option<&Response> {
        self.response().filter(|_| self.known.answerer == Answerer::Service)
    }

    /// The status code, if there is a response.
    pub fn status(&self) -> Option<u16> {
        self.response().map(|response| response.status)
    }

    /// The server's time when it answered: its `Date`, or without one the time of receipt by the judge's clock.
    pub fn answered_at(&self) -> Timestamp {
        self.response().and_then(Response::date).unwrap_or(self.received_at)
    }
}
