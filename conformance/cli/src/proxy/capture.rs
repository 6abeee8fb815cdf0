//! Turns the messages that pass through the proxy into exchanges that rules judge.

use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use hyper::http::{request, response};

use super::budget::Reserved;
use super::hop;
use super::target;
use super::tee::Copied;
use super::traffic::Ticket;
use animal_store_rules::trace::exchange::{Body, Exchange, Failure, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Answerer, Carrier, Fact, Knowledge};
use jiff::{SignedDuration, Timestamp};

/// The content codings of requests that the search for keys decodes, in lower case.
const LEGIBLE_CODINGS: [&str; 5] = ["", "identity", "gzip", "x-gzip", "deflate"];

/// The kept parts of a request that has passed, without its body.
pub(super) struct Asked {
    method: Method,
    path: String,
    query: Option<String>,
    headers: Vec<(String, String)>,
    carrier: Carrier,
    /// Whether the request was sent to a path outside the service: only the places of its keys are judged.
    pub(super) is_outside: bool,
    is_coded: bool,
    pub(super) reserved: Reserved,
    pub(super) ticket: Ticket,
}

/// The kept parts of a response, without its body.
pub(super) struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    is_coded: bool,
}

/// The outcome of a request.
pub(super) enum Answer {
    /// A response, with the copy of its body.
    Response(Head, Copied),
    /// No response from the server: an intermediary answered instead, or lost the response.
    None(Failure),
}

/// A request and its outcome as they passed, with the memory that they take until they are judged.
pub(super) struct Captured {
    pub(super) asked: Asked,
    /// The copy of the request's body, if the body has ended.
    pub(super) sent: Option<Copied>,
    pub(super) answer: Answer,
    pub(super) received_at: Timestamp,
}

/// The path below the path of the service, or `None` for another path.
fn below<'p>(path: &'p str, base_path: &str) -> Option<&'p str> {
    match path.strip_prefix(base_path)? {
        "" => Some("/"),
        path => path.starts_with('/').then_some(path),
    }
}

/// The names and values of header fields; characters that are not UTF-8 are replaced.
fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}

/// The memory that the fields take, in bytes.
fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + size_of::<(String, String)>()).sum()
}

impl Asked {
    /// The kept parts of a request, or `None` if there is no memory for them.
    pub(super) fn new(
        parts: &request::Parts,
        base_path: &str,
        carrier: Carrier,
        mut reserved: Reserved,
        begin: impl FnOnce() -> Ticket,
    ) -> Option<Asked> {
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        if !reserved.grow(target.len() + size(&parts.headers)) {
            return None;
        }
        let restored = target::without_stand_ins(target.as_bytes());
        let restored = restored.map(|target| String::from_utf8_lossy(&target).into_owned());
        let target = restored.as_deref().unwrap_or(target);
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let (path, is_outside) = match below(path, base_path) {
            Some(path) => (path.to_owned(), false),
            None => (format!("{}{path}", "/..".repeat(base_path.matches('/').count())), true),
        };
        Some(Asked {
            method: parts.method.clone(),
            path,
            query: query.map(str::to_owned),
            headers: fields(&parts.headers),
            carrier,
            is_outside,
            is_coded: hop::is_coded(&parts.headers),
            reserved,
            ticket: begin(),
        })
    }

    /// Reserves memory for the head of the response, and returns true if it was available.
    pub(super) fn grow(&mut self, parts: &response::Parts) -> bool {
        self.reserved.grow(size(&parts.headers))
    }

    /// Notes the number of other connections that are open at the end of the exchange. It no longer contains a connection that was about
    /// to be closed when the request arrived.
    pub(super) fn ends_beside(&mut self, others: u32) {
        self.carrier.others = self.carrier.others.min(others);
    }
}

impl Head {
    pub(super) fn new(parts: &response::Parts) -> Head {
        let is_coded = hop::is_coded(&parts.headers);
        Head { status: parts.status.as_u16(), headers: fields(&parts.headers), is_coded }
    }
}

impl Captured {
    /// The exchange, with the facts that are known of it.
    pub(super) fn into_exchange(self) -> Exchange {
        let Captured { asked, sent, answer, received_at } = self;
        let mut known =
            Knowledge { precision: SignedDuration::ZERO, carrier: Some(asked.carrier), ..Knowledge::default() };
        known.answerer = if asked.is_outside { Answerer::Nobody } else { Answerer::Service };
        let sent_at = asked.ticket.sent_at;
        let request = asked.request(sent.and_then(Copied::into_body), &mut known);
        let outcome = match answer {
            Answer::Response(head, copied) => Outcome::Response(head.response(copied.into_body(), &mut known)),
            Answer::None(failure) => {
                known.answerer = Answerer::Nobody;
                Outcome::Failed(failure)
            }
        };
        Exchange { number: 0, probe: "".into(), step: String::new(), request, outcome, sent_at, received_at, known }
    }
}

impl Asked {
    fn request(self, body: Option<Vec<u8>>, known: &mut Knowledge) -> Request {
        let mut request = Request::new(self.method.as_str(), self.path);
        request.query = self.query;
        let (mut credentials, mut content_types) = (Vec::new(), Vec::new());
        for (name, value) in self.headers {
            if name == AUTHORIZATION.as_str() {
                credentials.push(value);
            } else if name == CONTENT_TYPE.as_str() {
                content_types.push(value);
            } else {
                request.headers.push((name, value));
            }
        }
        match <[String; 1]>::try_from(credentials) {
            Ok([value]) if value.is_ascii() => request.authorization = Some(value),
            Err(none) if none.is_empty() => {}
            // It is unknown which of several counts. Each is a secret.
            several => {
                known.withheld.insert(Fact::Credential);
                let values = several.map_or_else(|values| values, Vec::from);
                request.headers.extend(values.into_iter().map(|value| (AUTHORIZATION.to_string(), value)));
            }
        }
        // The keys in a body of another content coding would not be found.
        let is_legible = request.headers.iter().filter(|(name, _)| name == "content-encoding").all(|(_, value)| {
            value.split(',').all(|coding| LEGIBLE_CODINGS.contains(&coding.trim().to_ascii_lowercase().as_str()))
        });
        match (body.filter(|_| is_legible && !self.is_coded), content_types.into_iter().next()) {
            (Some(bytes), _) if bytes.is_empty() => {}
            (Some(bytes), Some(content_type)) => request.body = Some(Body { content_type, bytes }),
            _ => known.withheld.insert(Fact::RequestBody),
        }
        request
    }
}

impl Head {
    fn response(self, body: Option<Vec<u8>>, known: &mut Knowledge) -> Response {
        let mut response = Response { status: self.status, headers: self.headers, body: Vec::new(), cut: false };
        for (_, value) in response.headers.iter_mut().filter(|(name, _)| name == "set-cookie") {
            *value = animal_store_conformance::redaction::without_its_value(value);
        }
        match body {
            // A body in a content coding, or in a transfer coding other than chunks, is not decoded here.
            Some(body) if response.content_coding().is_none() && !self.is_coded => response.body = body,
            _ => known.withheld.insert(Fact::ResponseBody),
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_sent_below_the_path_of_the_service_is_judged() {
        assert_eq!(below("/v1/pets", "/v1"), Some("/pets"));
        assert_eq!(below("/v1", "/v1"), Some("/"));
        assert_eq!(below("/pets", ""), Some("/pets"));
        for elsewhere in ["/v10/pets", "/", "/metrics", "*"] {
            assert_eq!(below(elsewhere, "/v1"), None, "{elsewhere}");
        }
    }
}
