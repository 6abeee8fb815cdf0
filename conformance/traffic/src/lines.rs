//! The judge's own format, JSON Lines: the first line is the [`Head`], every further one an exchange. Bodies are written as text,
//! so that no digit and no space is lost, or in base64 where they are not UTF-8.

use std::io::{BufRead, Read};

use animal_store_rules::trace::exchange::{Body, Connection, Exchange, Failure, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Answerer, Carrier, Extent, Fact, FactSet, KeyPlace, Knowledge};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{FORMAT, Head, MAX_LINE, Unreadable};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    probe: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    step: String,
    sent_at: Timestamp,
    received_at: Timestamp,
    /// The most by which either time may be wrong, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<Fact>,
    /// The party that answered, if not the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answerer: Option<Answerer>,
    /// `conversation` where no request was under way, so that the recording can be divided before this exchange; `sample` where exchanges
    /// are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begins: Option<Extent>,
    /// The number of the client's connection that carried the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connection: Option<u64>,
    /// The number of other connections of clients that were open during the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other_connections: Option<u32>,
    /// The place of a key outside `Authorization`, if the request had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    misplaced_key: Option<KeyPlace>,
    request: Asked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Answered>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    method: String,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Instead of `body`, where the bytes are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// Whether the request was sent on the connection that is kept open for such requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
    /// The index of the address of the service that the request was sent to, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replica: Option<usize>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    status: u16,
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Instead of `body`, where the bytes are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// Whether the body was longer than the bound of the judge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// Bytes as text, or else in base64.
fn written(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(BASE64_STANDARD.encode(bytes))),
    }
}

fn bytes(text: Option<String>, base64: Option<String>) -> Result<Vec<u8>, String> {
    match base64 {
        Some(text) => BASE64_STANDARD.decode(text).map_err(|error| format!("body_base64: {error}")),
        None => Ok(text.unwrap_or_default().into_bytes()),
    }
}

/// A head as a line, with its line break.
pub fn head_line(head: &Head) -> String {
    line_of(head)
}

/// An exchange as a line, with its line break. The exchange must not contain a key.
pub fn line(exchange: &Exchange) -> String {
    let Exchange { probe, step, request, outcome, sent_at, received_at, known, .. } = exchange;
    let (response, failure) = match outcome {
        Outcome::Response(Response { status, headers, body, cut }) => {
            let (body, body_base64) = written(body);
            (Some(Answered { status: *status, headers: headers.clone(), body, body_base64, cut: *cut }), None)
        }
        Outcome::Failed(failure) => (None, Some(failure.clone())),
    };
    let (body, body_base64) = request.body.as_ref().map_or((None, None), |body| written(&body.bytes));
    line_of(&Line {
        probe: probe.to_string(),
        step: step.clone(),
        sent_at: *sent_at,
        received_at: *received_at,
        precision_us: u64::try_from(known.precision.as_micros()).ok().filter(|precision| *precision > 0),
        withheld: known.withheld.iter().collect(),
        answerer: Some(known.answerer).filter(|answerer| *answerer != Answerer::Service),
        begins: known.begins,
        connection: known.carrier.map(|carrier| carrier.connection),
        other_connections: known.carrier.map(|carrier| carrier.others).filter(|others| *others > 0),
        misplaced_key: known.misplaced_key,
        request: Asked {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            authorization: request.authorization.clone(),
            headers: request.headers.clone(),
            content_type: request.body.as_ref().map(|body| body.content_type.clone()),
            body,
            body_base64,
            kept: request.connection == Connection::Kept,
            replica: request.replica,
        },
        response,
        failure,
    })
}

fn line_of(value: &impl Serialize) -> String {
    // Plain data: texts, numbers and lists.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// Reads a recording as a stream. Each exchange is handed to `each` with the head, numbered from 1.
///
/// # Errors
///
/// [`Unreadable`], with the line and the column, once the exchanges before it have been handed on; and every error of `each`.
pub fn read<E: From<Unreadable>>(
    text: &mut impl BufRead,
    mut each: impl FnMut(&Head, Exchange) -> Result<(), E>,
) -> Result<Head, E> {
    let mut number = 0;
    let mut line = Vec::new();
    next_line(text, &mut line, 1)?;
    let head = head(&line)?;
    for at in 2.. {
        if !next_line(text, &mut line, at)? {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let wrong = |problem: String| Unreadable::Text { line: at, column: 1, problem };
        if line.starts_with(br#"{"format":"#) {
            let problem = "a second recording begins here\n  Give each recording in a file of its own.";
            return Err(wrong(problem.to_owned()).into());
        }
        let read: Line = match serde_json::from_slice(&line) {
            Ok(read) => read,
            // The program that wrote the recording ended within the last line.
            Err(error) if error.is_eof() && !line.ends_with(b"\n") => break,
            Err(error) => return Err(Unreadable::json(&error, at).into()),
        };
        number += 1;
        each(&head, exchange(number, read).map_err(wrong)?)?;
    }
    Ok(head)
}

fn head(line: &[u8]) -> Result<Head, Unreadable> {
    /// The member that every version has.
    #[derive(Deserialize)]
    struct Versioned {
        format: String,
    }
    let wrong = |error: serde_json::Error| Unreadable::json(&error, 1);
    let Versioned { format } = serde_json::from_slice(line).map_err(wrong)?;
    if format != FORMAT {
        return Err(Unreadable::Version(format));
    }
    serde_json::from_slice(line).map_err(wrong)
}

/// Reads the next line, of at most [`MAX_LINE`] bytes. Returns false at the end of the text.
fn next_line(text: &mut impl BufRead, line: &mut Vec<u8>, at: usize) -> Result<bool, Unreadable> {
    line.clear();
    let bound = MAX_LINE as u64 + 1;
    text.by_ref().take(bound).read_until(b'\n', line)?;
    if line.len() > MAX_LINE {
        let problem = format!("a line of more than {} MiB", MAX_LINE / 1024 / 1024);
        return Err(Unreadable::Text { line: at, column: MAX_LINE, problem });
    }
    Ok(!line.is_empty())
}

fn exchange(number: usize, line: Line) -> Result<Exchange, String> {
    let Asked { method, path, query, authorization, headers, content_type, body, body_base64, kept, replica } =
        line.request;
    let connection = if kept { Connection::Kept } else { Connection::Own };
    let sent = bytes(body, body_base64)?;
    let body = content_type.map(|content_type| Body { content_type, bytes: sent });
    let outcome = match (line.response, line.failure) {
        (Some(Answered { status, headers, body, body_base64, cut }), None) => {
            Outcome::Response(Response { status, headers, body: bytes(body, body_base64)?, cut })
        }
        (None, Some(failure)) => Outcome::Failed(failure),
        _ => return Err("an exchange has either a response or a failure".to_owned()),
    };
    let precision = i64::try_from(line.precision_us.unwrap_or_default()).unwrap_or(i64::MAX);
    Ok(Exchange {
        number,
        probe: line.probe.into(),
        step: line.step,
        request: Request { method, path, query, authorization, headers, body, connection, replica },
        outcome,
        sent_at: line.sent_at,
        received_at: line.received_at,
        known: Knowledge {
            withheld: FactSet::of(&line.withheld),
            precision: SignedDuration::from_micros(precision),
            answerer: line.answerer.unwrap_or_default(),
            begins: line.begins,
            carrier: line
                .connection
                .map(|connection| Carrier { connection, others: line.other_connections.unwrap_or_default() }),
            misplaced_key: line.misplaced_key,
            has_foreign_date: false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::trace::Trace;
    use animal_store_rules::trace::exchange::FailureKind;

    fn recorded(trace: &Trace) -> String {
        let writer = Writer { name: "test".to_owned(), version: "1".to_owned() };
        let lines = trace.exchanges.iter().map(line);
        std::iter::once(head_line(&Head::of(&trace.context, writer))).chain(lines).collect()
    }

    fn read_back(text: &str) -> Result<(Head, Vec<Exchange>), Unreadable> {
        let mut exchanges = Vec::new();
        let head = read(&mut text.as_bytes(), |_, exchange| {
            exchanges.push(exchange);
            Ok::<(), Unreadable>(())
        })?;
        Ok((head, exchanges))
    }

    #[test]
    fn what_is_written_is_read_back_as_it_was() {
        let list = Request::new("GET", "/pets").query("limit=5").header("X-Api-Key", "key-1").at(Some(1));
        let broken = Request::new("POST", "/pets").json(b"{\"name\":\"\xff\"}".to_vec());
        let builder = TraceBuilder::new().fleet(2).create(7).ask(list, 200, "[\"\u{1}\"]".to_owned()).ask(
            broken,
            400,
            String::new(),
        );
        let mut trace = builder.ask(Request::new("GET", "/elsewhere"), 404, String::new()).trace();
        trace.exchanges[0].known.withheld.insert(Fact::ResponseBody);
        trace.exchanges[2].known.precision = SignedDuration::from_millis(10);
        trace.exchanges[1].known.answerer = Answerer::Nobody;
        trace.exchanges[1].known.begins = Some(Extent::Conversation);
        trace.exchanges[0].known.carrier = Some(Carrier { connection: 3, others: 2 });
        trace.exchanges[1].known.carrier = Some(Carrier { connection: 4, others: 0 });
        trace.exchanges[1].known.misplaced_key = Some(KeyPlace::Query);
        trace.exchanges[3].outcome =
            Outcome::Failed(Failure { kind: FailureKind::Timeout, detail: "no response".to_owned() });
        let (head, exchanges) = read_back(&recorded(&trace)).expect("a recording");
        assert_eq!(exchanges, trace.exchanges);
        let context = head.context().expect("a context");
        assert_eq!((context.base_url, context.keys), (trace.context.base_url, trace.context.keys));
        assert_eq!(context.replicas, trace.context.replicas);
    }

    #[test]
    fn a_broken_line_is_reported_with_its_line_and_column() {
        let text = recorded(&TraceBuilder::new().create(7).create(8).trace());
        let error = |text: &str| read_back(text).expect_err("a broken recording").to_string();
        let broken = text.replacen("\"id\\\":8", "\"id\\\":8\"", 1);
        assert!(error(&broken).starts_with("line 3, column "), "{}", error(&broken));
        assert!(error(&format!("{text}{{}}\n")).starts_with("line 4, column 2: missing field"));
        let both =
            text.replacen("\"response\":", "\"failure\":{\"kind\":\"timeout\",\"detail\":\"\"},\"response\":", 1);
        assert_eq!(error(&both), "line 2, column 1: an exchange has either a response or a failure");
        let cut = read_back(&text[..text.len() - 9]).expect("the lines before the one that is cut");
        assert_eq!(cut.1.len(), 1);
        assert!(error("").starts_with("line 1, column 1: EOF"), "{}", error(""));
    }

    #[test]
    fn a_format_of_another_version_is_refused_by_its_name() {
        let text = recorded(&TraceBuilder::new().trace()).replace(FORMAT, "animal-store-trace/1");
        let error = read_back(&text).expect_err("another version").to_string();
        assert!(error.contains("`animal-store-trace/1`") && error.contains(FORMAT), "{error}");
    }
}
