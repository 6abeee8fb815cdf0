//! From messages that pass to exchanges that rules judge.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use hyper::http::{request, response};

use super::budget::Reserved;
use super::tee::Copied;
use super::traffic::Ticket;
use animal_store_rules::trace::exchange::{Body, Exchange, Failure, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Fact, Knowledge};
use animal_store_rules::trace::recording::sample::is_needed;
use jiff::{SignedDuration, Timestamp};

/// A request that has passed, and what is known of it.
pub(super) struct Asked {
    request: Request,
    content_type: Option<String>,
    known: Knowledge,
    pub(super) ticket: Ticket,
}

/// An exchange, and the memory that it takes until it is judged.
pub(super) struct Captured {
    pub(super) exchange: Exchange,
    pub(super) ticket: Ticket,
    pub(super) reserved: Reserved,
}

/// Path and query below the path of the service; none of a request to another path.
pub(super) fn below<'t>(target: &'t str, base_path: &str) -> Option<(&'t str, Option<&'t str>)> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    match path.strip_prefix(base_path)? {
        "" => Some(("/", query)),
        path if path.starts_with('/') => Some((path, query)),
        _ => None,
    }
}

impl Asked {
    /// What is kept of a request to the service, its body apart.
    pub(super) fn new(parts: &request::Parts, base_path: &str, begin: impl FnOnce() -> Ticket) -> Option<Asked> {
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let (path, query) = below(target, base_path)?;
        let mut request = Request::new(parts.method.as_str(), path);
        request.query = query.map(str::to_owned);
        let mut known = Knowledge { precision: SignedDuration::ZERO, ..Knowledge::default() };
        let mut credentials = parts.headers.get_all(AUTHORIZATION).iter();
        match (credentials.next().map(|value| value.to_str()), credentials.next()) {
            (None, _) => {}
            (Some(Ok(value)), None) => request.authorization = Some(value.to_owned()),
            // Which of several counts, nobody knows.
            _ => known.withheld.insert(Fact::Credential),
        }
        request.headers = fields(&parts.headers).filter(|(name, _)| is_needed(name)).collect();
        let content_type = parts.headers.get(CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Some(Asked { request, content_type, known, ticket: begin() })
    }

    /// Puts in the body, if a whole copy of it was kept. What is unknown of it is withheld.
    fn with_body(&mut self, body: Option<Copied>, reserved: &mut Reserved) {
        let body = body.and_then(|copied| {
            let (body, memory) = copied.into_parts();
            reserved.absorb(memory);
            body
        });
        match (body, self.content_type.take()) {
            (Some(bytes), _) if bytes.is_empty() => {}
            (Some(bytes), Some(content_type)) => self.request.body = Some(Body { content_type, bytes }),
            _ => self.known.withheld.insert(Fact::RequestBody),
        }
    }

    /// The exchange with the response of the server.
    pub(super) fn answered(mut self, parts: &Head, sent: Option<Copied>, received: Copied, at: Timestamp) -> Captured {
        let (body, mut reserved) = received.into_parts();
        self.with_body(sent, &mut reserved);
        let mut response =
            Response { status: parts.status, headers: parts.headers.clone(), body: Vec::new(), cut: false };
        match body {
            // What is in a content coding is not decoded here.
            Some(body) if response.content_coding().is_none() => response.body = body,
            _ => self.known.withheld.insert(Fact::ResponseBody),
        }
        self.concluded(Outcome::Response(response), at, reserved)
    }

    /// The exchange without one: something between client and server answered instead, or lost the answer.
    pub(super) fn unserved(
        mut self,
        failure: Failure,
        sent: Option<Copied>,
        at: Timestamp,
        mut reserved: Reserved,
    ) -> Captured {
        self.with_body(sent, &mut reserved);
        self.known.is_unserved = true;
        self.concluded(Outcome::Failed(failure), at, reserved)
    }

    fn concluded(self, outcome: Outcome, received_at: Timestamp, reserved: Reserved) -> Captured {
        let Asked { request, known, ticket, .. } = self;
        let exchange = Exchange {
            number: 0,
            probe: "".into(),
            step: String::new(),
            case: None,
            request,
            outcome,
            sent_at: ticket.sent_at,
            received_at,
            known,
        };
        Captured { exchange, ticket, reserved }
    }
}

/// What is kept of a response, its body apart.
pub(super) struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn new(parts: &response::Parts) -> Head {
        let mut headers: Vec<(String, String)> = fields(&parts.headers).collect();
        for (_, value) in headers.iter_mut().filter(|(name, _)| name == "set-cookie") {
            *value = crate::report::without_its_value(value);
        }
        Head { status: parts.status.as_u16(), headers }
    }
}

fn fields(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(move |(name, value)| (name.as_str().to_owned(), text(value.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_sent_below_the_path_of_the_service_is_judged() {
        assert_eq!(below("/v1/pets?limit=5", "/v1"), Some(("/pets", Some("limit=5"))));
        assert_eq!(below("/v1", "/v1"), Some(("/", None)));
        assert_eq!(below("/pets", ""), Some(("/pets", None)));
        for elsewhere in ["/v10/pets", "/", "/metrics", "*"] {
            assert_eq!(below(elsewhere, "/v1"), None, "{elsewhere}");
        }
    }
}
