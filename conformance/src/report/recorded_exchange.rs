//! Exchanges of a run as archives show them: whole, redacted, with bodies up to a bound. Other formats show evidence only.

use super::key_alias::KeyAlias;

/// An exchange of the run, keys redacted, with its bodies up to a bound.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedExchange {
    /// The number of the exchange in the run, from 1.
    pub number: usize,
    /// The probe that sent the request.
    pub probe: String,
    /// The step of the probe: the request without names, ids and keys; empty for generated requests.
    pub step: String,
    /// The key of the request.
    pub key: KeyAlias,
    /// The time at which the request was sent, RFC 3339 in UTC.
    pub sent_at: String,
    /// The time at which the response was complete or failed, RFC 3339 in UTC.
    pub received_at: String,
    /// The time between the two, in microseconds.
    pub elapsed_us: u64,
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The address that the request was sent to, if the service has several.
    pub replica: Option<String>,
    /// The header fields that the judge set, names in lower case.
    pub request_headers: Vec<(String, String)>,
    /// The request's body, if there was one.
    pub request_body: Option<RecordedBody>,
    /// The response, if there was one.
    pub response: Option<RecordedResponse>,
    /// The error, if there was no response.
    pub failure: Option<String>,
}

/// A response of the run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The status.
    pub status: u16,
    /// The header fields in the order of arrival, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: RecordedBody,
}

/// A body of the run, keys redacted, up to a bound.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedBody {
    /// The body as printable text, truncated at the bound.
    pub text: String,
    /// The body in base64, if the text differs from its bytes: they are not UTF-8, or contain control characters.
    pub base64: Option<String>,
    /// The size of the whole body in bytes.
    pub size: usize,
    /// Whether the body is truncated here.
    pub cut: bool,
}
