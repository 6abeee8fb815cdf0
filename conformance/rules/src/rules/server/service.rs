//! What the service does: it answers, in JSON.

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};
use crate::trace::exchange::{FailureKind, MAX_BODY, Outcome};

pub(crate) const RULES: &[Rule] =
    &[Rule::new("service.complete-answer", complete_answer), Rule::new("service.json", json)];

fn complete_answer(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let expected = "a complete HTTP response within the timeout";
    for entry in &history.entries {
        match &entry.exchange.outcome {
            Outcome::Response(response) => judgement.require(entry, !response.cut, expected, || {
                format!("a body that goes on after {} MiB", MAX_BODY / 1024 / 1024)
            }),
            Outcome::Failed(failure) => {
                let what = match failure.kind {
                    FailureKind::Connect | FailureKind::Unresolved => "no connection",
                    FailureKind::Tls | FailureKind::Untrusted | FailureKind::NotTls => "no TLS session",
                    FailureKind::Timeout => "no complete answer in time",
                    FailureKind::Broken => "a broken connection or a response that is not valid HTTP",
                };
                judgement.fail(
                    &[entry],
                    expected,
                    format!("{what} on {} ({})", entry.operation.name(), failure.detail),
                );
            }
        }
    }
}

/// Whether the specification describes the body of this answer as JSON and not as an Error.
fn is_described_success(entry: &Entry<'_>) -> bool {
    matches!(
        (&entry.operation, entry.status()),
        (Operation::List(_) | Operation::Get(_), Some(200)) | (Operation::Create(_), Some(201))
    )
}

fn json(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in history.entries.iter().filter(|entry| is_described_success(entry)) {
        let media_type = entry.response().and_then(|response| response.media_type());
        match (&entry.json, media_type.as_deref()) {
            (Some(Ok(_)), Some("application/json")) => judgement.hold(),
            (Some(Err(error)), _) => judgement.fail(&[entry], "a JSON body", format!("{}: {error}", answered(entry))),
            (None, _) => judgement.fail(&[entry], "a JSON body", format!("{} with an empty body", answered(entry))),
            (_, media_type) => judgement.fail(
                &[entry],
                "Content-Type: application/json",
                format!("{} with {}", answered(entry), media_type.unwrap_or("no Content-Type")),
            ),
        }
    }
}
