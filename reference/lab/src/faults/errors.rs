//! Errors.

use serde_json::json;

use super::{Builds, Fault, at, change, failure, fault, set};

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Members of an Error.
        fault("errors.shape.error-is-a-word", "Errors have one member, called error.")
            .sends(failure, |response| response.set_json(json!({"error": "it was refused"}))),
        fault("errors.shape.detail", "A 400 has the member detail and none of an Error.").answered(
            400,
            |_, response, _| {
                response.set_json(json!({"detail": [{"loc": ["body", "name"], "msg": "field required"}]}));
            },
        ),
        fault("errors.shape.nested-error", "Errors are inside another object.")
            .sends(failure, |response| response.set_json(json!({"error": response.json()}))),
        fault("errors.shape.numeric-codes", "Codes are numbers.").edits_errors(|error| set(error, "code", 1_000)),
        fault("errors.shape.empty-401", "A 401 has no body.").answered(401, |_, response, _| response.clear_body()),
        fault("errors.shape.status-as-string", "The status in an Error is a string.")
            .edits_errors(|error| change(error, "status", |status| Some(status.to_string().into()))),
        fault("errors.shape.no-message", "Errors have no message.").edits_errors(|error| drop(error.remove("message"))),
        fault("errors.status-member.always-400", "The status in an Error is always 400.")
            .edits_errors(|error| set(error, "status", 400)),
        fault("errors.status-member.status-0", "The status in an Error is always 0.")
            .edits_errors(|error| set(error, "status", 0)),
        // Media types of errors.
        fault("errors.media-type.problem-json", "Errors are labelled application/problem+json.")
            .sends(failure, |response| response.set("content-type", "application/problem+json")),
        fault("errors.media-type.text-errors", "Errors are labelled text/plain.")
            .sends(failure, |response| response.set("content-type", "text/plain; charset=utf-8")),
        fault("errors.elsewhere.html-404", "Unknown paths get a page.")
            .sends(at(404, |request| !request.is_get()), |response| response.set_page("Not Found")),
        fault("errors.elsewhere.plain-405", "Methods that are not there get text.")
            .answered(405, |_, response, _| response.set_body("text/plain", "Method Not Allowed")),
    ]
}
