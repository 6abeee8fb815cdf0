//! Exchanges for reports: keys redacted, printable, bodies up to a bound.
//!
//! This is the only place where secrets are removed from a trace. Renderers read its output, and nothing else.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::KeyAlias;
use super::commands::{self, Curl};
use super::model::{ReportedBody, ReportedExchange, ReportedRequest, ReportedResponse};
use crate::options::Options;
use crate::redaction::{Redactor, printable, redactor_for, without_its_value};
use animal_store_rules::request::{Credential, Defect, credential_of};
use animal_store_rules::trace::exchange::{Connection, Exchange, Outcome, Request};
use animal_store_rules::trace::{REQUEST_ID, Trace};

/// The maximum number of characters of a body that a failure shows.
const MAX_SHOWN: usize = 2_000;

/// The maximum number of bytes of a body in the report. The longest body that a run sends is shorter.
const MAX_RECORDED: usize = 128 * 1024;

/// The maximum length of a sentence in characters: it may quote a response.
const MAX_SENTENCE: usize = 1_000;

/// The header fields in which services, gateways and clouds give a response an identifier.
const RESPONSE_IDS: [&str; 8] = [
    REQUEST_ID,
    "request-id",
    "x-correlation-id",
    "x-trace-id",
    "x-amzn-requestid",
    "x-amzn-trace-id",
    "x-ms-request-id",
    "cf-ray",
];

/// Presents the exchanges of a trace.
#[derive(Debug)]
pub(crate) struct Presentation<'t> {
    pub(super) trace: &'t Trace,
    /// The redactor for secrets.
    pub(crate) redactor: Redactor,
    /// The redactor for the judge's own words.
    prose: Redactor,
    curl_options: Vec<String>,
    /// Whether the options set the field with the identifiers of requests.
    sets_request_id: bool,
}

impl<'t> Presentation<'t> {
    /// Presents the trace of a run with these options.
    pub(crate) fn of_run(trace: &'t Trace, options: &Options) -> Presentation<'t> {
        Presentation {
            curl_options: commands::curl_options(options),
            sets_request_id: options.transport.sets(REQUEST_ID),
            ..Presentation::of_traffic(trace, redactor_for(options, trace))
        }
    }

    /// Presents the trace of recorded traffic with this redactor.
    pub(crate) fn of_traffic(trace: &'t Trace, redactor: Redactor) -> Presentation<'t> {
        let prose = redactor.for_prose();
        Presentation { trace, redactor, prose, curl_options: Vec::new(), sets_request_id: false }
    }

    /// The index of an exchange in the trace, if it is there: the report on a long recording keeps only some exchanges.
    pub(super) fn index_of(&self, number: usize) -> Option<usize> {
        self.trace.exchanges.binary_search_by_key(&number, |exchange| exchange.number).ok()
    }

    /// A text without secrets, printable.
    pub(super) fn text(&self, text: &str) -> String {
        printable(&self.redactor.redact(text))
    }

    /// A text of the judge's own or of the user, without secrets and printable.
    pub(super) fn own(&self, text: &str) -> String {
        printable(&self.prose.redact(text))
    }

    /// Notes of the judge's own, without keys and printable.
    pub(super) fn notes(&self, notes: &[String]) -> Vec<String> {
        let redactor = self.redactor.for_notes();
        notes.iter().map(|note| printable(&redactor.redact(note))).collect()
    }

    /// A sentence of the judge's own, without secrets, printable, and of limited length.
    pub(super) fn sentence(&self, text: &str) -> String {
        let (beginning, more) = self.prose.redact_beginning(text.as_bytes(), MAX_SENTENCE);
        let shown = printable(&String::from_utf8_lossy(&beginning));
        if more { format!("{}…", shown.trim_end_matches('\u{fffd}')) } else { shown }
    }

    /// An exchange for the report, without a command.
    pub(crate) fn exchange(&self, exchange: &Exchange) -> ReportedExchange {
        let (response, failure) = match &exchange.outcome {
            Outcome::Response(response) => {
                let headers = response.headers.iter().map(|(name, value)| {
                    let value = if name == "set-cookie" { without_its_value(value) } else { value.clone() };
                    (self.own(name), self.text(&value))
                });
                let (headers, body) = (headers.collect(), body(&response.body, response.cut, &self.redactor));
                (Some(ReportedResponse { status: response.status, headers, body }), None)
            }
            Outcome::Failed(failure) => (None, Some(self.text(&failure.detail))),
        };
        let response_id = response.as_ref().and_then(|response| {
            let value = |name: &&str| response.headers.iter().find(|(field, _)| field == name);
            RESPONSE_IDS.iter().find_map(value).map(|(_, value)| value.clone())
        });
        let request = &exchange.request;
        let request_id = self.trace.context.request_id(exchange.number).filter(|_| !self.sets_request_id);
        let mut headers: Vec<(String, String)> =
            request_id.iter().map(|id| (REQUEST_ID.to_owned(), id.clone())).collect();
        headers.extend(request.authorization.iter().map(|value| ("authorization".to_owned(), self.text(value))));
        headers.extend(request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), self.text(value))));
        let labelled = request.body.iter().filter(|body| !body.content_type.is_empty());
        headers.extend(labelled.map(|body| ("content-type".to_owned(), self.own(&body.content_type))));
        let address = self.own(self.trace.context.address_of(request));
        // A key of a few letters would be found in any path, so it is hidden in the query alone.
        let query = request.query.as_ref().map_or_else(String::new, |query| format!("?{}", self.text(query)));
        let elapsed = exchange.received_at.duration_since(exchange.sent_at).as_micros();
        ReportedExchange {
            number: exchange.number,
            probe: exchange.probe.to_string(),
            step: self.own(&exchange.step),
            key: self.key_alias(exchange),
            sent_at: exchange.sent_at,
            // A clock that was set back in between makes the time negative.
            elapsed_us: u64::try_from(elapsed).unwrap_or_default(),
            request: ReportedRequest {
                method: request.method.clone(),
                url: format!("{address}{}{query}", self.own(&request.path)),
                headers,
                body: request.body.as_ref().map(|sent| body(&sent.bytes, false, &self.prose)),
            },
            replica: request.replica.map(|_| address),
            response,
            failure,
            request_id,
            response_id,
            curl: String::new(),
        }
    }

    /// An exchange as evidence of a failure: with shortened bodies, and the command that repeats its request.
    pub(crate) fn evidence(&self, exchange: &Exchange) -> ReportedExchange {
        let mut shown = self.exchange(exchange);
        shown.curl = self.curl(&[&exchange.request]);
        let bodies = shown.response.as_mut().map(|response| &mut response.body);
        bodies.into_iter().chain(&mut shown.request.body).for_each(shorten);
        shown
    }

    /// The `curl` command that repeats requests to one address, on one connection.
    fn curl(&self, requests: &[&Request]) -> String {
        let curl = Curl { options: &self.curl_options, redactor: &self.redactor, prose: &self.prose };
        curl.command(self.trace.context.address_of(requests[0]), requests)
    }

    /// One `curl` command that repeats the request of an exchange and the previous request on the kept connection. There is none without a
    /// previous request, or if the body of that request cannot be an argument.
    pub(super) fn curl_on_kept_connection(&self, number: usize) -> Option<String> {
        let place = self.index_of(number)?;
        let mut sent = self.trace.exchanges[..=place].iter().map(|exchange| &exchange.request).rev();
        let request = sent.next().filter(|request| request.connection == Connection::Kept)?;
        let before = sent.find(|other| other.connection == Connection::Kept && other.replica == request.replica)?;
        commands::fits_argument(before).then(|| self.curl(&[before, request]))
    }

    /// The key of an exchange, by its role.
    pub(super) fn key_alias(&self, exchange: &Exchange) -> KeyAlias {
        match credential_of(exchange, &self.trace.context) {
            Credential::Valid(0) | Credential::Ambiguous(0) => KeyAlias::Main,
            Credential::Valid(_) | Credential::Ambiguous(_) => KeyAlias::Quota,
            Credential::Invalid(Defect::Absent) => KeyAlias::None,
            _ => KeyAlias::Other,
        }
    }
}

/// The exchanges of a trace that was made with these options, as a report shows them: each with the `curl` command that repeats its request,
/// and with bodies of at most 2,000 characters. Keys come from `CONFORM_API_KEY` and `CONFORM_QUOTA_KEY`.
pub fn shown(trace: &Trace, options: &Options) -> Vec<ReportedExchange> {
    let presentation = Presentation::of_run(trace, options);
    trace.exchanges.iter().map(|exchange| presentation.evidence(exchange)).collect()
}

/// A body for the report.
fn body(bytes: &[u8], cut: bool, redactor: &Redactor) -> ReportedBody {
    let (redacted, more) = redactor.redact_beginning(bytes, MAX_RECORDED);
    let whole = String::from_utf8_lossy(&redacted);
    let text = printable(&whole[..whole.floor_char_boundary(MAX_RECORDED)]);
    let is_whole = !more && whole.len() <= MAX_RECORDED;
    let kept = &redacted[..redacted.len().min(MAX_RECORDED)];
    let faithful = kept.starts_with(text.as_bytes());
    ReportedBody {
        text,
        base64: (!faithful).then(|| BASE64_STANDARD.encode(kept)),
        size: bytes.len(),
        cut: cut || !is_whole,
    }
}

/// Shortens a body that is evidence of a failure.
fn shorten(body: &mut ReportedBody) {
    let end = body.text.char_indices().nth(MAX_SHOWN).map(|(end, _)| end);
    if end.is_some() || body.cut {
        body.text.truncate(end.unwrap_or(body.text.len()));
        body.text.push_str(&format!("… ({} bytes in total)", body.size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_keeps_its_bytes_where_the_text_differs() {
        let redactor = Redactor::default();
        let plain = body("ë".as_bytes(), false, &redactor);
        assert_eq!((plain.text.as_str(), plain.base64, plain.size, plain.cut), ("ë", None, 2, false));
        assert_eq!(body(b"\x1b[1m", false, &redactor).base64.as_deref(), Some("G1sxbQ=="));
        assert_eq!(body(b"\xff", false, &redactor).base64.as_deref(), Some("/w=="));
        let long = body("ë".repeat(MAX_RECORDED).as_bytes(), false, &redactor);
        assert!(long.cut && long.base64.is_none() && long.text.len() == MAX_RECORDED && long.size == 2 * MAX_RECORDED);
    }

    #[test]
    fn a_long_body_is_truncated_between_characters_and_its_size_is_reported() {
        let body = "ë".repeat(3_000);
        let mut body = super::body(body.as_bytes(), false, &Redactor::default());
        shorten(&mut body);
        let text = body.text;
        assert!(text.ends_with("… (6000 bytes in total)") && text.starts_with("ëë"));
    }
}
