//! Turns the messages that pass through the proxy into exchanges that rules judge.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};
use hyper::http::{request, response};

use super::budget::Reserved;
use super::target;
use super::tee::Copied;
use super::traffic::Ticket;
use animal_store_rules::trace::exchange::{Body, Exchange, Failure, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Answerer, Carrier, Fact, Knowledge};
use jiff::{SignedDuration, Timestamp};

/// The content codings of requests that the search for keys decodes, in lower case.
const LEGIBLE_CODINGS: [&str; 5] = ["", "identity", "gzip", "x-gzip", "deflate"];

/// A request that has passed, until its exchange is complete.
pub(super) struct Asked {
    /// The request, without its body.
    request: Request,
    content_type: Option<String>,
    known: Knowledge,
    /// Whether the request was sent to a path outside the service: only the places of its keys are judged.
    pub(super) is_outside: bool,
    pub(super) reserved: Reserved,
    pub(super) ticket: Ticket,
}

/// The outcome of a request.
pub(super) enum Answer {
    /// A response without its body, and the copy of the body.
    Response(Response, Copied),
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

/// Returns true if the fields name a transfer coding other than chunks, so that the body must be decoded to be read.
fn is_coded(fields: &[(String, String)]) -> bool {
    let values = fields.iter().filter(|(name, _)| name == TRANSFER_ENCODING.as_str());
    let mut codings = values.flat_map(|(_, value)| value.split(',')).map(str::trim).filter(|coding| !coding.is_empty());
    codings.any(|coding| !coding.eq_ignore_ascii_case("chunked"))
}

/// A response without its body.
pub(super) fn head(parts: &response::Parts) -> Response {
    Response { status: parts.status.as_u16(), headers: fields(&parts.headers), body: Vec::new(), cut: false }
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
        let below = below(path, base_path);
        let outside = || format!("{}{path}", "/..".repeat(base_path.matches('/').count()));
        let mut request = Request::new(parts.method.as_str(), below.map_or_else(outside, str::to_owned));
        request.query = query.map(str::to_owned);
        let answerer = if below.is_some() { Answerer::Service } else { Answerer::Nobody };
        let precision = SignedDuration::ZERO;
        let mut known = Knowledge { precision, answerer, carrier: Some(carrier), ..Knowledge::default() };
        let (mut credentials, mut content_type) = (Vec::new(), None);
        for (name, value) in fields(&parts.headers) {
            if name == AUTHORIZATION.as_str() {
                credentials.push(value);
            } else if name == CONTENT_TYPE.as_str() {
                content_type.get_or_insert(value);
            } else {
                request.headers.push((name, value));
            }
        }
        if credentials.len() == 1 && credentials[0].is_ascii() {
            request.authorization = credentials.pop();
        } else if !credentials.is_empty() {
            // It is unknown which of several counts. Each is a secret.
            known.withheld.insert(Fact::Credential);
            request.headers.extend(credentials.into_iter().map(|value| (AUTHORIZATION.to_string(), value)));
        }
        Some(Asked { request, content_type, known, is_outside: below.is_none(), reserved, ticket: begin() })
    }

    /// Reserves memory for the head of the response, and returns true if it was available.
    pub(super) fn grow(&mut self, parts: &response::Parts) -> bool {
        self.reserved.grow(size(&parts.headers))
    }

    /// Notes the number of other connections that are open at the end of the exchange. It no longer contains a connection that was about
    /// to be closed when the request arrived.
    pub(super) fn ends_beside(&mut self, others: u32) {
        if let Some(carrier) = &mut self.known.carrier {
            carrier.others = carrier.others.min(others);
        }
    }
}

impl Captured {
    /// The exchange, with the facts that are known of it.
    pub(super) fn into_exchange(self) -> Exchange {
        let Captured { asked: Asked { mut request, content_type, mut known, ticket, .. }, sent, answer, received_at } =
            self;
        // The keys in a body of another content coding would not be found.
        let is_legible = request.headers.iter().filter(|(name, _)| name == "content-encoding").all(|(_, value)| {
            value.split(',').all(|coding| LEGIBLE_CODINGS.contains(&coding.trim().to_ascii_lowercase().as_str()))
        });
        let body = sent.and_then(Copied::into_body).filter(|_| is_legible && !is_coded(&request.headers));
        match (body, content_type) {
            (Some(bytes), _) if bytes.is_empty() => {}
            (Some(bytes), Some(content_type)) => request.body = Some(Body { content_type, bytes }),
            _ => known.withheld.insert(Fact::RequestBody),
        }
        let outcome = match answer {
            Answer::Response(mut response, copied) => {
                for (_, value) in response.headers.iter_mut().filter(|(name, _)| name == "set-cookie") {
                    *value = animal_store_conformance::redaction::without_its_value(value);
                }
                match copied.into_body() {
                    // A body in a content coding, or in a transfer coding other than chunks, is not decoded here.
                    Some(body) if response.content_coding().is_none() && !is_coded(&response.headers) => {
                        response.body = body;
                    }
                    _ => known.withheld.insert(Fact::ResponseBody),
                }
                Outcome::Response(response)
            }
            Answer::None(failure) => {
                known.answerer = Answerer::Nobody;
                Outcome::Failed(failure)
            }
        };
        let sent_at = ticket.sent_at;
        Exchange { number: 0, probe: "".into(), step: String::new(), request, outcome, sent_at, received_at, known }
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

    #[test]
    fn a_body_in_chunks_alone_is_read_as_it_is() {
        let fields = |value: &str| [("transfer-encoding".to_owned(), value.to_owned())];
        assert!(is_coded(&fields("gzip, chunked")) && !is_coded(&fields("Chunked")) && !is_coded(&[]));
    }
}
