//! The exchanges as an HTTP Archive, version 1.2, which browsers and most HTTP tools can open.
//!
//! Members that begin with an underscore are extensions, as the format allows: `_key` is the key of the request by its role, and `_error`,
//! as Chromium writes it, the reason why there is no response.

use serde::Serialize;

use animal_store_conformance::report::{RecordedBody, RecordedExchange, RecordedResponse, Report};

/// Every exchange of the run. A body that the report truncates has a comment.
#[must_use]
pub fn render(report: &Report) -> String {
    let log = Log {
        version: "1.2",
        creator: Creator { name: &report.tool.name, version: &report.tool.version },
        entries: report.exchanges.iter().map(entry).collect(),
        comment: about(report),
    };
    super::json::pretty(&Archive { log })
}

/// The target, the selection, the seed, and the identity of the implementation and of the judge.
fn about(report: &Report) -> String {
    let facts = report.identity().into_iter().map(|(name, value)| format!("; {name}: {value}"));
    let part = report.part().map_or_else(String::new, |part| format!(", {part}"));
    format!("{}{part}, seed {}{}", report.target.base_url, report.seed, facts.collect::<String>())
}

#[derive(Serialize)]
struct Archive<'r> {
    log: Log<'r>,
}

#[derive(Serialize)]
struct Log<'r> {
    version: &'static str,
    creator: Creator<'r>,
    entries: Vec<Entry<'r>>,
    comment: String,
}

#[derive(Serialize)]
struct Creator<'r> {
    name: &'r str,
    version: &'r str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'r> {
    started_date_time: &'r str,
    time: f64,
    request: Request<'r>,
    response: Response<'r>,
    cache: Empty,
    timings: Timings,
    comment: String,
    #[serde(rename = "_key")]
    key: &'static str,
}

/// An object without members.
#[derive(Serialize)]
struct Empty {}

/// The times of an exchange. The judge records the beginning of the request and the end of the response; all time between is waiting.
#[derive(Serialize)]
struct Timings {
    send: f64,
    wait: f64,
    receive: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'r> {
    method: &'r str,
    url: &'r str,
    http_version: &'static str,
    cookies: Vec<Pair<'r>>,
    headers: Vec<Pair<'r>>,
    query_string: Vec<Pair<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_data: Option<PostData<'r>>,
    headers_size: i64,
    body_size: usize,
}

#[derive(Serialize)]
struct Pair<'r> {
    name: &'r str,
    value: &'r str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PostData<'r> {
    mime_type: &'r str,
    text: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'r> {
    status: u16,
    status_text: &'static str,
    http_version: &'static str,
    cookies: Vec<Pair<'r>>,
    headers: Vec<Pair<'r>>,
    content: Content<'r>,
    #[serde(rename = "redirectURL")]
    redirect_url: &'r str,
    headers_size: i64,
    body_size: i64,
    #[serde(rename = "_error", skip_serializing_if = "Option::is_none")]
    error: Option<&'r str>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'r> {
    size: usize,
    mime_type: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

/// The value for an unknown size.
const UNKNOWN: i64 = -1;

/// The protocol version of the client. The report does not contain the version of the status line.
const HTTP: &str = "HTTP/1.1";

fn entry(exchange: &RecordedExchange) -> Entry<'_> {
    let time = exchange.elapsed_us as f64 / 1_000.0;
    Entry {
        started_date_time: &exchange.sent_at,
        time,
        request: request(exchange),
        response: exchange.response.as_ref().map_or_else(|| no_response(exchange), response),
        cache: Empty {},
        timings: Timings { send: 0.0, wait: time, receive: 0.0 },
        comment: format!("{}: {}", exchange.probe, exchange.step).trim_end_matches([':', ' ']).to_owned(),
        key: exchange.key.as_str(),
    }
}

fn request(exchange: &RecordedExchange) -> Request<'_> {
    let query = exchange.url.split_once('?').map_or("", |(_, query)| query);
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    Request {
        method: &exchange.method,
        url: &exchange.url,
        http_version: HTTP,
        cookies: Vec::new(),
        headers: pairs(&exchange.request_headers),
        query_string: parameters.map(|p| p.split_once('=').unwrap_or((p, ""))).map(pair).collect(),
        post_data: exchange.request_body.as_ref().map(|body| PostData {
            mime_type: value(&exchange.request_headers, "content-type"),
            text: &body.text,
            comment: comment(body),
        }),
        headers_size: UNKNOWN,
        body_size: exchange.request_body.as_ref().map_or(0, |body| body.size),
    }
}

fn response(response: &RecordedResponse) -> Response<'_> {
    let body = &response.body;
    let cookies = response.headers.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| {
        let pair = value.split(';').next().unwrap_or(value);
        pair.split_once('=').unwrap_or((pair, ""))
    });
    Response {
        status: response.status,
        http_version: HTTP,
        cookies: cookies.map(pair).collect(),
        headers: pairs(&response.headers),
        content: Content {
            size: body.size,
            mime_type: value(&response.headers, "content-type"),
            text: Some(body.base64.as_deref().unwrap_or(&body.text)),
            encoding: body.base64.as_ref().map(|_| "base64"),
            comment: comment(body),
        },
        redirect_url: value(&response.headers, "location"),
        headers_size: UNKNOWN,
        body_size: i64::try_from(body.size).unwrap_or(UNKNOWN),
        ..Response::default()
    }
}

/// A response with the status 0, as browsers write it, because the format has no exchange without a response.
fn no_response(exchange: &RecordedExchange) -> Response<'_> {
    let error = exchange.failure.as_deref();
    Response { headers_size: UNKNOWN, body_size: UNKNOWN, error, ..Response::default() }
}

fn pairs(fields: &[(String, String)]) -> Vec<Pair<'_>> {
    fields.iter().map(|(name, value)| Pair { name, value }).collect()
}

fn pair<'r>((name, value): (&'r str, &'r str)) -> Pair<'r> {
    Pair { name, value }
}

fn value<'r>(fields: &'r [(String, String)], name: &str) -> &'r str {
    fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
}

fn comment(body: &RecordedBody) -> Option<String> {
    body.cut.then(|| "truncated: more was received".to_owned())
}
