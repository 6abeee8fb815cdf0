//! Errors.

use serde_json::json;

use super::{Builds, Fault, fault, set};
use crate::Response;

impl Fault {
    /// Changes the responses that are errors.
    fn errs(self, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Fault {
        self.after(move |_, response, _| {
            if response.status >= 400 {
                change(response);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Members of an Error.
        fault("errors.shape.error-is-a-word", "Errors have one member, called error.").errs(|response| {
            response.set_json(json!({"error": "it was refused"}));
        }),
        fault("errors.shape.detail", "A 400 has the member detail and none of an Error.").errs(|response| {
            if response.status == 400 {
                response.set_json(json!({"detail": [{"loc": ["body", "name"], "msg": "field required"}]}));
            }
        }),
        fault("errors.shape.nested-error", "Errors are inside another object.").errs(|response| {
            let error = response.json().unwrap_or_default();
            response.set_json(json!({ "error": error }));
        }),
        fault("errors.shape.numeric-codes", "Codes are numbers.")
            .errs(|response| response.edit_error(|error| set(error, "code", 1_000))),
        fault("errors.shape.empty-401", "A 401 has no body.").errs(|response| {
            if response.status == 401 {
                response.body.clear();
                response.remove("content-type");
            }
        }),
        fault("errors.shape.status-as-string", "The status in an Error is a string.").errs(|response| {
            let status = response.status.to_string();
            response.edit_error(|error| set(error, "status", status));
        }),
        fault("errors.shape.no-message", "Errors have no message.")
            .errs(|response| response.edit_error(|error| drop(error.remove("message")))),
        fault("errors.status-member.always-400", "The status in an Error is always 400.")
            .errs(|response| response.edit_error(|error| set(error, "status", 400))),
        fault("errors.status-member.status-0", "The status in an Error is always 0.")
            .errs(|response| response.edit_error(|error| set(error, "status", 0))),
        // Media types of errors.
        fault("errors.media-type.problem-json", "Errors are labelled application/problem+json.")
            .like("the media type of RFC 9457")
            .errs(|response| response.set("content-type", "application/problem+json")),
        fault("errors.media-type.text-errors", "Errors are labelled text/plain.")
            .errs(|response| response.set("content-type", "text/plain; charset=utf-8")),
        fault("errors.elsewhere.html-404", "Unknown paths get a page.").after(|request, response, _| {
            if !request.is_get() && response.status == 404 {
                response.set_body("text/html", "<h1>Not Found</h1>");
            }
        }),
        fault("errors.elsewhere.plain-405", "Methods that are not there get text.")
            .answered(405, |_, response, _| response.set_body("text/plain", "Method Not Allowed")),
    ]
}
