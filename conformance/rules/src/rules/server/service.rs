//! The service responds, in JSON.

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, Value, sentence};
use crate::trace::exchange::{FailureKind, MAX_BODY, Outcome};
use crate::trace::knowledge::{Answerer, Fact};

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("service.complete-answer", is_owed, complete_answer),
    Rule::of_entries("service.json", is_described_success, json).needing(Needs::RESPONSE),
];

/// Returns true if the service owes a response. An edge may close the connection of a malformed request.
fn is_owed(entry: &Entry<'_>) -> bool {
    let known = &entry.exchange.known;
    known.answerer == Answerer::Service
        && !entry.credential.is_malformed()
        && !entry.exchange.may_have_lost_its_response()
}

fn complete_answer(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let expected = "a complete HTTP response within the timeout";
    let failure = match &entry.exchange.outcome {
        Outcome::Response(response) => {
            return judgement.require(entry, !response.cut || response.is_too_long(), expected, || {
                sentence!("a body that goes on after {} MiB", MAX_BODY / 1024 / 1024)
            });
        }
        Outcome::Failed(failure) => failure,
    };
    let what = match failure.kind {
        FailureKind::Connect | FailureKind::Unresolved => "no connection",
        kind if kind.is_of_tls() => "no TLS session",
        FailureKind::Timeout => "no complete response within the timeout",
        kind if kind.is_end() => "a connection that ended without a response",
        _ => "a broken connection or a response that is not valid HTTP",
    };
    let found = sentence!("{} on {} ({})", what, entry.operation.name(), failure.detail.clone());
    judgement.fail(&[entry], expected, found);
}

/// Returns true if the specification describes the body of the response as JSON, and not as an Error.
fn is_described_success(entry: &Entry<'_>) -> bool {
    matches!(
        (&entry.operation, entry.status()),
        (Operation::List(_) | Operation::Get(_), Some(200)) | (Operation::Create(_), Some(201))
    )
}

/// The media type of a body, or that it has none, in words.
pub(super) fn labelled(media_type: Option<&str>) -> Value {
    media_type.map_or("no Content-Type".into(), |media_type| media_type.to_owned().into())
}

/// The coding in `Content-Encoding` of a body that is not encoded, in words. A client that decodes such a body gets nothing.
pub(crate) fn false_coding(entry: &Entry<'_>) -> Option<Sentence> {
    // A withheld value, such as `[redacted]`, names no coding.
    let is_known = !entry.exchange.known.withheld.contains(Fact::ResponseHeaders);
    let coding = entry.response()?.content_coding().filter(|_| is_known)?;
    matches!(entry.json, Some(Ok(_)))
        .then(|| sentence!("Content-Encoding: {}, and a body that is not encoded", coding.to_owned()))
}

fn json(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    if let Some(coding) = false_coding(entry) {
        let expected = "a body in the content coding that it is labelled with";
        judgement.fail(&[entry], expected, sentence!("{}: {}", answered(entry), coding));
        return;
    }
    let media_type = entry.response().and_then(|response| response.media_type());
    match (&entry.json, media_type.as_deref()) {
        (Some(Ok(_)), Some("application/json")) => judgement.hold(),
        // The judge reads only the beginning of a long body, which then ends too early.
        (Some(Err(_)), Some("application/json")) if entry.response().is_some_and(|response| response.cut) => {}
        (Some(Err(error)), _) => {
            judgement.fail(&[entry], "a JSON body", sentence!("{}: {}", answered(entry), error.to_string()));
        }
        (None, _) => judgement.fail(&[entry], "a JSON body", sentence!("{} with an empty body", answered(entry))),
        (_, media_type) => judgement.fail(
            &[entry],
            "Content-Type: application/json",
            sentence!("{} with {}", answered(entry), labelled(media_type)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::{Failure, Request};

    const NONE: [[usize; 0]; 0] = [];

    /// A list is asked for, and the request fails.
    fn failed(kind: FailureKind, answerer: Answerer) -> TraceBuilder {
        TraceBuilder::new().list(200, 9, 10).list(200, 9, 10).change_last(|exchange| {
            exchange.known.answerer = answerer;
            exchange.outcome = Outcome::Failed(Failure { kind, detail: String::new() });
        })
    }

    #[test]
    fn a_request_that_the_service_did_not_answer_is_no_failure_of_it() {
        for kind in
            [FailureKind::Connect, FailureKind::Timeout, FailureKind::Closed, FailureKind::Reset, FailureKind::Broken]
        {
            assert_eq!(failed(kind, Answerer::Service).failures_of("service.complete-answer"), [[2]], "{kind:?}");
            assert_eq!(failed(kind, Answerer::Nobody).failures_of("service.complete-answer"), NONE, "{kind:?}");
        }
    }

    #[test]
    fn two_labels_of_one_media_type_are_one_and_two_of_others_are_none() {
        let labelled = |second: &str| {
            let label = ("content-type".to_owned(), second.to_owned());
            TraceBuilder::new().list(200, 9, 10).header("content-type", "application/json").change_last(|exchange| {
                let Outcome::Response(response) = &mut exchange.outcome else { return };
                response.headers.push(label);
            })
        };
        assert_eq!(labelled("application/json; charset=utf-8").failures_of("service.json"), NONE);
        assert_eq!(labelled("text/plain").failures_of("service.json"), [[1]]);
    }

    #[test]
    fn the_response_to_a_long_body_that_nobody_read_may_be_lost_with_the_connection() {
        let ended = |kind, size: usize| {
            let ended = failed(kind, Answerer::Service);
            let ended =
                ended.change_last(|exchange| exchange.request = Request::new("POST", "/pets").json(vec![b' '; size]));
            ended.failures_of("service.complete-answer")
        };
        assert_eq!(ended(FailureKind::Reset, 65 * 1024), NONE);
        assert_eq!(ended(FailureKind::Reset, 64 * 1024), [[2]], "a connection takes as much");
        assert_eq!(ended(FailureKind::Closed, 65 * 1024), [[2]], "the server had read it");
    }

    #[test]
    fn a_connection_that_is_closed_for_a_malformed_request_is_no_failure() {
        let malformed = failed(FailureKind::Closed, Answerer::Service).change_last(|exchange| {
            exchange.request.headers.push(("authorization".to_owned(), "Bearer another".to_owned()));
        });
        assert_eq!(malformed.failures_of("service.complete-answer"), NONE);
    }

    #[test]
    fn a_body_of_which_the_judge_read_the_beginning_only_is_not_taken_for_broken_json() {
        let list = |cut: bool| {
            let request = crate::trace::exchange::Request::new("GET", "/pets");
            let list =
                TraceBuilder::new().ask(request, 200, "[{".to_owned()).header("content-type", "application/json");
            list.change_last(|exchange| {
                if let Outcome::Response(response) = &mut exchange.outcome {
                    response.cut = cut;
                }
            })
        };
        assert_eq!(
            (list(true).failures_of("service.json"), list(false).failures_of("service.json")),
            (Vec::new(), vec![vec![1]])
        );
        assert_eq!(list(true).failures_of("service.complete-answer"), [[1]], "it may go on for ever");
        assert_eq!(
            list(true).header("content-length", "30000000").failures_of("service.complete-answer"),
            [[0; 0]; 0],
            "it would have ended"
        );
    }

    #[test]
    fn a_coding_is_judged_only_where_the_headers_are_known() {
        let coded = |value: &str| TraceBuilder::new().list(200, 9, 10).header("content-encoding", value);
        let redacted =
            coded("[redacted]").change_last(|exchange| exchange.known.withheld.insert(Fact::ResponseHeaders));
        let is_false = |builder: TraceBuilder| false_coding(&History::new(&builder.trace()).entries[0]).is_some();
        assert!(is_false(coded("gzip")) && !is_false(coded("identity")));
        assert!(!is_false(redacted));
    }
}
