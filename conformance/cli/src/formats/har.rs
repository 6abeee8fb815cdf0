//! The exchanges as an HTTP Archive, version 1.2, which browsers and most HTTP tools can open.
//!
//! Members that begin with an underscore are extensions, as the format allows: `_key` is the key of the request by its role, and `_error`,
//! as Chromium writes it, the reason why there is no response.

use serde_json::{Value, json};

use animal_store_conformance::report::{Report, ReportedBody, ReportedExchange, ReportedRequest, ReportedResponse};

/// Every exchange of the run. A body that the report truncates has a comment.
pub fn render(report: &Report) -> String {
    let facts = report.identity().into_iter().map(|(name, value)| format!("; {name}: {value}"));
    let part = report.part().map_or_else(String::new, |part| format!(", {part}"));
    let comment = format!("{}{part}, seed {}{}", report.target.base_url, report.seed, facts.collect::<String>());
    super::json::render(&json!({"log": {
        "version": "1.2",
        "creator": {"name": report.tool.name, "version": report.tool.version},
        "entries": report.exchanges.iter().map(entry).collect::<Vec<_>>(),
        "comment": comment,
    }}))
}

/// The value for an unknown size.
const UNKNOWN: i64 = -1;

/// The protocol version of the client. The report does not contain the version of the status line.
const HTTP: &str = "HTTP/1.1";

fn entry(exchange: &ReportedExchange) -> Value {
    let time = exchange.elapsed_us as f64 / 1_000.0;
    json!({
        "startedDateTime": exchange.sent_at,
        "time": time,
        "request": request(&exchange.request),
        "response": exchange.response.as_ref().map_or_else(|| no_response(exchange), response),
        "cache": {},
        // The judge records the beginning of the request and the end of the response; all time between is waiting.
        "timings": {"send": 0.0, "wait": time, "receive": 0.0},
        "comment": format!("{}: {}", exchange.probe, exchange.step).trim_end_matches([':', ' ']),
        "_key": exchange.key.as_str(),
    })
}

fn request(sent: &ReportedRequest) -> Value {
    let query = sent.url.split_once('?').map_or("", |(_, query)| query);
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    let mut request = json!({
        "method": sent.method,
        "url": sent.url,
        "httpVersion": HTTP,
        "cookies": [],
        "headers": pairs(&sent.headers),
        "queryString": parameters.map(|parameter| pair(parameter.split_once('=').unwrap_or((parameter, "")))).collect::<Vec<_>>(),
        "headersSize": UNKNOWN,
        "bodySize": sent.body.as_ref().map_or(0, |body| body.size),
    });
    if let Some(body) = &sent.body {
        request["postData"] = json!({"mimeType": value(&sent.headers, "content-type"), "text": body.text});
        comment(&mut request["postData"], body);
    }
    request
}

fn response(response: &ReportedResponse) -> Value {
    let body = &response.body;
    let cookies = response.headers.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| {
        let cookie = value.split(';').next().unwrap_or(value);
        pair(cookie.split_once('=').unwrap_or((cookie, "")))
    });
    let mut content = json!({
        "size": body.size,
        "mimeType": value(&response.headers, "content-type"),
        "text": body.base64.as_ref().unwrap_or(&body.text),
    });
    if body.base64.is_some() {
        content["encoding"] = "base64".into();
    }
    comment(&mut content, body);
    json!({
        "status": response.status,
        "statusText": "",
        "httpVersion": HTTP,
        "cookies": cookies.collect::<Vec<_>>(),
        "headers": pairs(&response.headers),
        "content": content,
        "redirectURL": value(&response.headers, "location"),
        "headersSize": UNKNOWN,
        "bodySize": body.size,
    })
}

/// A response with the status 0, as browsers write it, because the format has no exchange without a response.
fn no_response(exchange: &ReportedExchange) -> Value {
    let mut response = json!({
        "status": 0,
        "statusText": "",
        "httpVersion": "",
        "cookies": [],
        "headers": [],
        "content": {"size": 0, "mimeType": ""},
        "redirectURL": "",
        "headersSize": UNKNOWN,
        "bodySize": UNKNOWN,
    });
    if let Some(error) = &exchange.failure {
        response["_error"] = json!(error);
    }
    response
}

fn pairs(fields: &[(String, String)]) -> Vec<Value> {
    fields.iter().map(|(name, value)| pair((name, value))).collect()
}

fn pair((name, value): (&str, &str)) -> Value {
    json!({"name": name, "value": value})
}

fn value<'r>(fields: &'r [(String, String)], name: &str) -> &'r str {
    fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
}

/// Adds a comment to a body that the report truncates.
fn comment(content: &mut Value, body: &ReportedBody) {
    if body.cut {
        content["comment"] = "truncated: more was received".into();
    }
}
