//! The answerer of a request: the service, or an intermediary between it and its client. Only responses of the service are judged.

use std::collections::HashSet;

use super::Trace;
use super::exchange::{Connection, Exchange, FailureKind, Outcome, Response};
use super::knowledge::Answerer;
use super::rate_limit::FIELDS;

/// The reason why the outcome of a request may not be the service's own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Doubt {
    /// The connection that was kept from an earlier request ended before the first byte of a response, which is allowed at any time (RFC
    /// 9112, section 9.5).
    KeptConnection,
    /// The response has the signs of an intermediary.
    Intermediary,
    /// No connection could be made.
    NoConnection,
    /// The response did not arrive in time.
    Late,
}

impl Doubt {
    /// The doubt about the outcome of an exchange, if there is one. `has_limits` is true if the service sends rate-limit header fields.
    pub fn of(exchange: &Exchange, has_limits: bool) -> Option<Doubt> {
        match &exchange.outcome {
            Outcome::Response(response) => (has_limits && is_of_intermediary(response.status, shows_limits(response)))
                .then_some(Doubt::Intermediary),
            Outcome::Failed(failure) => match failure.kind {
                kind if kind.is_end() && exchange.request.connection == Connection::Kept => Some(Doubt::KeptConnection),
                FailureKind::Connect => Some(Doubt::NoConnection),
                FailureKind::Timeout => Some(Doubt::Late),
                _ => None,
            },
        }
    }

    /// The answerer of the request, once its repetition has shown that the outcome was not the service's own.
    #[must_use]
    pub fn answerer(self) -> Answerer {
        if self == Doubt::Intermediary { Answerer::Intermediary } else { Answerer::Nobody }
    }
}

/// Returns true if the service sends rate-limit header fields: a response without the signs of an intermediary has them, or no such
/// response is there to deny it.
pub fn has_limits<'e>(exchanges: impl IntoIterator<Item = &'e Exchange>) -> bool {
    let answers = exchanges.into_iter().filter_map(Exchange::service_response);
    let mut own = answers.filter(|response| !is_of_intermediary(response.status, shows_limits(response))).peekable();
    own.peek().is_none() || own.any(shows_limits)
}

/// Marks the answers of intermediaries in recorded traffic, whose requests cannot be repeated to remove the doubt. There, a refusal without
/// rate-limit fields whose `Server` no response of the service has is that of an intermediary, too.
pub fn mark(exchanges: &mut [Exchange]) {
    let has_limits = has_limits(&*exchanges);
    let with_limits = exchanges.iter().filter_map(Exchange::response).filter(|response| shows_limits(response));
    let own: HashSet<String> =
        with_limits.filter_map(|response| response.header("server")).map(str::to_owned).collect();
    for exchange in exchanges {
        let is_foreign = exchange.response().is_some_and(|response| {
            let is_of_other_server = response.header("server").is_some_and(|server| !own.contains(server));
            has_limits && response.status >= 300 && !shows_limits(response) && is_of_other_server
        });
        if is_foreign || Doubt::of(exchange, has_limits) == Some(Doubt::Intermediary) {
            exchange.known.answerer = Answerer::Intermediary;
        }
    }
}

/// The share of requests of a run that may have a transient failure: one in this many, and always [`LEAST`].
const ONE_IN: usize = 100;

/// The number of transient failures that a run of any length may have.
const LEAST: usize = 2;

/// The exchanges with a transient failure: the repetition of the request was answered by the service, or the request could not be repeated.
/// Kept connections that ended are excluded, because they may end at any time.
pub fn transient(exchanges: &[Exchange]) -> impl Iterator<Item = &Exchange> {
    exchanges.iter().filter(|exchange| {
        exchange.known.answerer != Answerer::Service && Doubt::of(exchange, true) != Some(Doubt::KeptConnection)
    })
}

/// Decides at the end of a run whether its transient failures are few. If they are many, failures without an answer count as the
/// service's own, and the run is incomplete if an intermediary answered any request.
pub fn end_run(trace: &mut Trace) {
    let failed: Vec<usize> = transient(&trace.exchanges).map(|exchange| exchange.number - 1).collect();
    let all = trace.exchanges.len();
    if failed.len() <= LEAST.max(all / ONE_IN) {
        return;
    }
    let mut foreign = Vec::new();
    for place in failed {
        let exchange = &mut trace.exchanges[place];
        match exchange.response() {
            Some(response) => foreign.push(name_of(response)),
            None => exchange.known.answerer = Answerer::Service,
        }
    }
    if let Some(name) = foreign.first() {
        let count = foreign.len();
        trace
            .context
            .unfinished
            .push(format!("{count} of {all} requests ({name} answered in the place of the service)").into());
    }
}

/// Returns true if a response has the signs of an intermediary: a proxy asks for its own credentials, a balancer cannot reach the service,
/// a network demands a login (RFC 6585, section 6), or a content delivery network states with 520 to 530 what is wrong with the service. A
/// response with the rate-limit fields of the service is its own.
pub fn is_of_intermediary(status: u16, has_limits: bool) -> bool {
    !has_limits && matches!(status, 407 | 502..=504 | 511 | 520..=530)
}

/// Returns true if a response has any of the rate-limit header fields.
pub fn shows_limits(response: &Response) -> bool {
    FIELDS.into_iter().any(|name| response.header(name).is_some())
}

/// Header fields that name an intermediary.
const NAMES: [(&str, &str); 9] = [
    ("cf-ray", "Cloudflare"),
    ("x-amz-cf-id", "Amazon CloudFront"),
    ("x-amzn-errortype", "Amazon API Gateway"),
    ("x-amzn-requestid", "Amazon API Gateway"),
    ("x-azure-ref", "Azure Front Door"),
    ("x-envoy-upstream-service-time", "Envoy"),
    ("x-kong-response-latency", "Kong"),
    ("x-kong-request-id", "Kong"),
    ("x-served-by", "Fastly"),
];

/// The likely name of the intermediary that sent a response: `nginx`, for example.
pub fn name_of(response: &Response) -> String {
    if let Some((_, name)) = NAMES.into_iter().find(|(field, _)| response.header(field).is_some()) {
        return name.to_owned();
    }
    if let Some(server) = response.header("server").filter(|value| !value.is_empty()) {
        return server.to_owned();
    }
    match response.header("via") {
        Some(via) => format!("a proxy (Via: {via})"),
        None if response.status == 407 => "a proxy".to_owned(),
        None => "a gateway or balancer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TraceBuilder;

    #[test]
    fn only_responses_without_the_fields_of_the_service_are_those_of_an_intermediary() {
        for status in [407, 502, 503, 504, 511, 522] {
            assert!(is_of_intermediary(status, false) && !is_of_intermediary(status, true), "{status}");
        }
        for status in [500, 403, 429] {
            assert!(!is_of_intermediary(status, false), "{status}");
        }
    }

    #[test]
    fn a_service_without_rate_limit_fields_answers_for_itself() {
        let request = crate::trace::exchange::Request::new("GET", "/pets");
        let trace = TraceBuilder::new().ask(request, 502, String::new()).trace();
        let doubt = |has_limits| Doubt::of(&trace.exchanges[0], has_limits);
        assert_eq!((doubt(true), doubt(false)), (Some(Doubt::Intermediary), None));
    }

    #[test]
    fn in_a_recording_a_refusal_by_another_server_than_the_services_is_that_of_an_intermediary() {
        let marked = |own: Option<&str>, other: Option<&str>, status: u16| {
            let add = |builder: TraceBuilder, server: Option<&str>| match server {
                Some(server) => builder.header("server", server),
                None => builder,
            };
            let refused = add(TraceBuilder::new().list(200, 9, 60), own).list(status, 0, 60).without_rate_limit();
            let mut exchanges = add(refused, other).trace().exchanges;
            mark(&mut exchanges);
            exchanges[1].known.answerer == Answerer::Intermediary
        };
        assert!(marked(None, Some("nginx"), 429) && marked(Some("axum"), Some("cloudflare"), 403));
        assert!(!marked(Some("nginx"), Some("nginx"), 429) && !marked(Some("nginx"), None, 404));
        assert!(!marked(None, Some("nginx"), 200), "no intermediary lists animals");
    }

    #[test]
    fn an_intermediary_is_named_by_what_it_sends() {
        let named = |fields: &[(&str, &str)]| {
            let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            name_of(&Response { status: 502, headers, body: Vec::new(), cut: false })
        };
        assert_eq!(named(&[("server", "nginx")]), "nginx");
        assert_eq!(named(&[("server", "cloudflare"), ("cf-ray", "8a")]), "Cloudflare");
        assert_eq!(named(&[("via", "1.1 squid")]), "a proxy (Via: 1.1 squid)");
        assert_eq!(named(&[]), "a gateway or balancer");
    }
}
