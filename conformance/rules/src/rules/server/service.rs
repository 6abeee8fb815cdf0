//! What the service does: it answers, in JSON.

use crate::history::{Case, Docket};
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};
use crate::trace::exchange::{FailureKind, MAX_BODY, Outcome};

pub(crate) const RULES: &[Rule] =
    &[Rule { id: "service.complete-answer", judge: complete_answer }, Rule { id: "service.json", judge: json }];

fn complete_answer(docket: &Docket<'_>, judgement: &mut Judgement) {
    let expected = "a complete HTTP response within the timeout";
    for case in &docket.cases {
        match &case.exchange.outcome {
            Outcome::Response(response) => judgement.require(case, !response.cut, expected, || {
                format!("a body that goes on after {} MiB", MAX_BODY / 1024 / 1024)
            }),
            Outcome::Failed(failure) => {
                let what = match failure.kind {
                    FailureKind::Connect | FailureKind::Unresolved => "no connection",
                    FailureKind::Tls | FailureKind::Untrusted | FailureKind::NotTls => "no TLS session",
                    FailureKind::Timeout => "no complete answer in time",
                    FailureKind::Broken => "a broken connection or something that is no HTTP",
                };
                judgement.fail(&[case], expected, format!("{what} on {} ({})", case.operation.name(), failure.detail));
            }
        }
    }
}

/// Whether the specification describes the body of this answer as JSON and not as an Error.
fn is_described_success(case: &Case<'_>) -> bool {
    matches!(
        (&case.operation, case.status()),
        (Operation::List(_) | Operation::Get(_), Some(200)) | (Operation::Create(_), Some(201))
    )
}

fn json(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in docket.cases.iter().filter(|case| is_described_success(case)) {
        let media_type = case.response().and_then(|response| response.media_type());
        match (&case.json, media_type.as_deref()) {
            (Some(Ok(_)), Some("application/json")) => judgement.hold(),
            (Some(Err(error)), _) => judgement.fail(&[case], "a JSON body", format!("{}: {error}", answered(case))),
            (None, _) => judgement.fail(&[case], "a JSON body", format!("{} with an empty body", answered(case))),
            (_, media_type) => judgement.fail(
                &[case],
                "Content-Type: application/json",
                format!("{} with {}", answered(case), media_type.unwrap_or("no Content-Type")),
            ),
        }
    }
}
