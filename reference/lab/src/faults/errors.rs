//! Errors.

use serde_json::json;

use super::{Fault, fault, set};
use crate::Response;

pub(super) fn faults() -> Vec<Fault> {
    [shapes(), labels()].into_iter().flatten().collect()
}

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

fn shapes() -> Vec<Fault> {
    vec![
        fault("error-is-a-word", &["errors.shape"])
            .does("Errors have one member, called error.")
            .like("one member with a sentence in it")
            .errs(|response| {
                response.set_json(json!({"error": "it was refused"}));
            }),
        fault("detail", &["errors.shape"])
            .does("A 400 has the member detail and none of an Error.")
            .like("the error body that a framework comes with")
            .errs(|response| {
                if response.status == 400 {
                    response.set_json(json!({"detail": [{"loc": ["body", "name"], "msg": "field required"}]}));
                }
            }),
        fault("nested-error", &["errors.shape"])
            .does("Errors are inside another object.")
            .like("an object around the error")
            .errs(|response| {
                let error = response.json().unwrap_or_default();
                response.set_json(json!({ "error": error }));
            }),
        fault("numeric-codes", &["errors.shape"])
            .does("Codes are numbers.")
            .like("codes that are numbers")
            .errs(|response| response.edit_error(|error| set(error, "code", 1_000))),
        fault("empty-401", &["errors.shape"])
            .does("A 401 has no body.")
            .like("a filter in front that only sets the status")
            .errs(|response| {
                if response.status == 401 {
                    response.body.clear();
                    response.remove("content-type");
                }
            }),
        fault("status-as-string", &["errors.shape"])
            .does("The status in an Error is a string.")
            .like("a status that is put together as text")
            .errs(|response| {
                let status = response.status.to_string();
                response.edit_error(|error| set(error, "status", status));
            }),
        fault("no-message", &["errors.shape"])
            .does("Errors have no message.")
            .like("messages that are left out in production")
            .errs(|response| response.edit_error(|error| drop(error.remove("message")))),
        fault("always-400", &["errors.status-member"])
            .does("The status in an Error is always 400.")
            .like("a constant that was copied")
            .errs(|response| response.edit_error(|error| set(error, "status", 400))),
        fault("status-0", &["errors.status-member"])
            .does("The status in an Error is always 0.")
            .like("a field that nobody fills in")
            .errs(|response| response.edit_error(|error| set(error, "status", 0))),
    ]
}

fn labels() -> Vec<Fault> {
    vec![
        fault("problem-json", &["errors.media-type"])
            .does("Errors are labelled application/problem+json.")
            .like("the media type of RFC 9457")
            .errs(|response| response.set("content-type", "application/problem+json")),
        fault("text-errors", &["errors.media-type"])
            .does("Errors are labelled text/plain.")
            .like("errors sent as text")
            .errs(|response| response.set("content-type", "text/plain; charset=utf-8")),
        fault("html-404", &["errors.elsewhere"])
            .does("Unknown paths are answered with a page.")
            .like("the page that a framework has for unknown paths")
            .after(|request, response, _| {
                if !request.is_get() && response.status == 404 {
                    response.set_body("text/html", "<h1>Not Found</h1>");
                }
            }),
        fault("plain-405", &["errors.elsewhere"])
            .does("Methods that are not there are answered with text.")
            .like("a sentence for a method that is not there")
            .answered(405, |_, response, _| response.set_body("text/plain", "Method Not Allowed")),
    ]
}
