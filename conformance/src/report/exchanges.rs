//! Exchanges as reports show them: keys taken out, printable, bodies up to a bound.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::curl;
use super::model::{
    KeyAlias, RecordedBody, RecordedExchange, RecordedResponse, ReportedExchange, ReportedRequest, ReportedResponse,
};
use crate::redaction::HIDDEN;
use crate::wire::exchange::{Exchange, Outcome, Request};
use crate::wire::secret::Redactor;
use crate::wire::trace::Trace;

/// No more characters of a body are shown beside a failure.
const MAX_SHOWN: usize = 2_000;

/// No more bytes of a body are kept in the record of a run.
const MAX_RECORDED: usize = 64 * 1024;

/// An exchange as it stands beside a failure.
pub(crate) fn reported(trace: &Trace, exchange: &Exchange) -> ReportedExchange {
    let redactor = &trace.context.redactor;
    let (response, failure) = match &exchange.outcome {
        Outcome::Response(response) => {
            let (headers, body) = (fields(&response.headers, redactor), shown(&response.body, redactor));
            (Some(ReportedResponse { status: response.status, headers, body }), None)
        }
        Outcome::Failed(failure) => (None, Some(hidden(&failure.detail, redactor))),
    };
    let request = &exchange.request;
    ReportedExchange {
        number: exchange.number,
        replay: None,
        sent_at: exchange.sent_at.to_string(),
        request: ReportedRequest {
            method: request.method.clone(),
            url: url(trace, request),
            headers: request_fields(request, redactor),
            body: request.body.as_ref().map(|body| shown(&body.bytes, redactor)),
        },
        response,
        failure,
        curl: curl::line(&trace.context, request),
    }
}

/// An exchange as it stands in the record of the run. Which key it came with, and how to send it again, is for the caller to
/// say.
pub(super) fn recorded(trace: &Trace, exchange: &Exchange) -> RecordedExchange {
    let redactor = &trace.context.redactor;
    let (response, failure) = match &exchange.outcome {
        Outcome::Response(response) => {
            let headers = fields(&response.headers, redactor);
            let body = body(&response.body, response.cut, redactor);
            (Some(RecordedResponse { status: response.status, headers, body }), None)
        }
        Outcome::Failed(failure) => (None, Some(hidden(&failure.detail, redactor))),
    };
    let request = &exchange.request;
    let elapsed = exchange.received_at.duration_since(exchange.sent_at).as_micros();
    RecordedExchange {
        number: exchange.number,
        probe: exchange.probe.to_owned(),
        step: exchange.step.clone(),
        key: KeyAlias::Other,
        sent_at: exchange.sent_at.to_string(),
        received_at: exchange.received_at.to_string(),
        // A clock that was set back in between makes the time negative.
        elapsed_us: u64::try_from(elapsed).unwrap_or_default(),
        replay: None,
        method: request.method.clone(),
        url: url(trace, request),
        request_headers: request_fields(request, redactor),
        request_body: request.body.as_ref().map(|sent| body(&sent.bytes, false, redactor)),
        response,
        failure,
        curl: curl::line(&trace.context, request),
    }
}

fn hidden(text: &str, redactor: &Redactor) -> String {
    printable(&redactor.redact(text))
}

fn url(trace: &Trace, request: &Request) -> String {
    hidden(&format!("{}{}", trace.context.base_url, request.target()), &trace.context.redactor)
}

fn fields(headers: &[(String, String)], redactor: &Redactor) -> Vec<(String, String)> {
    let value = |name: &str, value: &str| match name {
        "set-cookie" => without_its_value(value),
        _ => value.to_owned(),
    };
    headers.iter().map(|(name, told)| (hidden(name, redactor), hidden(&value(name, told), redactor))).collect()
}

/// A cookie that a candidate sets is a credential of its own; its name and attributes are none.
fn without_its_value(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_at(cookie.find(';').unwrap_or(cookie.len()));
    let name = pair.split('=').next().unwrap_or_default();
    format!("{name}={HIDDEN}{attributes}")
}

fn request_fields(request: &Request, redactor: &Redactor) -> Vec<(String, String)> {
    let field = |name: &str, value: &str| (name.to_ascii_lowercase(), hidden(value, redactor));
    let authorization = request.authorization.iter().map(|value| field("authorization", value));
    let further = request.headers.iter().map(|(name, value)| field(name, value));
    let content_type = request.body.iter().map(|body| field("content-type", &body.content_type));
    authorization.chain(further).chain(content_type).collect()
}

/// A body for the record.
fn body(bytes: &[u8], cut: bool, redactor: &Redactor) -> RecordedBody {
    let (redacted, more) = redactor.redact_beginning(bytes, MAX_RECORDED);
    let whole = String::from_utf8_lossy(&redacted);
    let text = printable(&whole[..whole.floor_char_boundary(MAX_RECORDED)]);
    let told = !more && whole.len() <= MAX_RECORDED;
    let kept = &redacted[..redacted.len().min(MAX_RECORDED)];
    let faithful = kept.starts_with(text.as_bytes());
    RecordedBody {
        text,
        base64: (!faithful).then(|| BASE64_STANDARD.encode(kept)),
        size: bytes.len(),
        cut: cut || !told,
    }
}

fn shown(body: &[u8], redactor: &Redactor) -> String {
    let (redacted, more) = redactor.redact_beginning(body, MAX_SHOWN * char::MAX.len_utf8());
    let text = printable(&String::from_utf8_lossy(&redacted));
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], body.len()),
        None if more => format!("{text}… ({} bytes in all)", body.len()),
        None => text,
    }
}

/// The text with everything escaped that could act on a terminal, deceive a reader or end an XML document: control characters
/// other than line breaks and tabs, line separators, the marks that change the direction of text, and what is no character.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Whether a character may be shown as it is.
pub(super) fn is_printable(c: char) -> bool {
    let acts = c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
    let directs = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_none = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    !(acts || directs || is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\r\n\u{ffff}"), "a\\u{1b}[31mb\\u{202e}c\\u{d}\n\\u{ffff}");
    }

    #[test]
    fn a_cookie_keeps_its_name_and_attributes_only() {
        assert_eq!(without_its_value("sid=a=b; Path=/; HttpOnly"), "sid=(hidden); Path=/; HttpOnly");
        assert_eq!(without_its_value("sid"), "sid=(hidden)");
    }

    #[test]
    fn a_recorded_body_keeps_its_bytes_where_text_cannot_tell_them() {
        let redactor = Redactor::default();
        let plain = body("ë".as_bytes(), false, &redactor);
        assert_eq!((plain.text.as_str(), plain.base64, plain.size, plain.cut), ("ë", None, 2, false));
        assert_eq!(body(b"\x1b[1m", false, &redactor).base64.as_deref(), Some("G1sxbQ=="));
        assert_eq!(body(b"\xff", false, &redactor).base64.as_deref(), Some("/w=="));
        let long = body("ë".repeat(MAX_RECORDED).as_bytes(), false, &redactor);
        assert!(long.cut && long.base64.is_none() && long.text.len() == MAX_RECORDED && long.size == 2 * MAX_RECORDED);
    }

    #[test]
    fn a_long_body_is_cut_between_characters_and_its_size_is_told() {
        let body = "ë".repeat(3_000);
        let text = shown(body.as_bytes(), &Redactor::default());
        assert!(text.ends_with("… (6000 bytes in all)") && text.starts_with("ëë"));
    }
}
