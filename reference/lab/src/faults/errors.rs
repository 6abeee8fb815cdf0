//! Errors.

use serde_json::json;

use super::{Fault, fault};
use crate::Response;

pub(super) fn faults() -> Vec<Fault> {
    [shapes(), labels()].into_iter().flatten().collect()
}

/// A fault whose errors look otherwise.
fn erring(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |_, response, _| {
        if response.status >= 400 {
            change(response);
        }
    })
}

fn shapes() -> Vec<Fault> {
    vec![
        erring(
            "error-is-a-word",
            "Errors have one member, called error.",
            &["errors.shape"],
            "one member with a sentence in it",
            |response| {
                response.set_json(json!({"error": "it was refused"}));
            },
        ),
        erring(
            "detail",
            "A 400 has the member detail and none of an Error.",
            &["errors.shape"],
            "the error body that a framework comes with",
            |response| {
                if response.status == 400 {
                    response.set_json(json!({"detail": [{"loc": ["body", "name"], "msg": "field required"}]}));
                }
            },
        ),
        erring(
            "nested-error",
            "Errors are inside another object.",
            &["errors.shape"],
            "an object around the error",
            |response| {
                let error = response.json().unwrap_or_default();
                response.set_json(json!({ "error": error }));
            },
        ),
        erring("numeric-codes", "Codes are numbers.", &["errors.shape"], "codes that are numbers", |response| {
            response.edit_error(|error| drop(error.insert("code".to_owned(), json!(1_000))));
        }),
        erring(
            "empty-401",
            "A 401 has no body.",
            &["errors.shape"],
            "a filter in front that only sets the status",
            |response| {
                if response.status == 401 {
                    response.body.clear();
                    response.remove("content-type");
                }
            },
        ),
        erring(
            "status-as-string",
            "The status in an Error is a string.",
            &["errors.shape"],
            "a status that is put together as text",
            |response| {
                let status = response.status.to_string();
                response.edit_error(|error| drop(error.insert("status".to_owned(), json!(status))));
            },
        ),
        erring(
            "no-message",
            "Errors have no message.",
            &["errors.shape"],
            "messages that are left out in production",
            |response| {
                response.edit_error(|error| drop(error.remove("message")));
            },
        ),
        erring(
            "always-400",
            "The status in an Error is always 400.",
            &["errors.status-member"],
            "a constant that was copied",
            |response| {
                response.edit_error(|error| drop(error.insert("status".to_owned(), json!(400))));
            },
        ),
        erring(
            "status-0",
            "The status in an Error is always 0.",
            &["errors.status-member"],
            "a field that nobody fills in",
            |response| {
                response.edit_error(|error| drop(error.insert("status".to_owned(), json!(0))));
            },
        ),
    ]
}

fn labels() -> Vec<Fault> {
    vec![
        erring(
            "problem-json",
            "Errors are labelled application/problem+json.",
            &["errors.media-type"],
            "the media type of RFC 9457",
            |response| {
                response.set("content-type", "application/problem+json");
            },
        ),
        erring(
            "text-errors",
            "Errors are labelled text/plain.",
            &["errors.media-type"],
            "errors sent as text",
            |response| {
                response.set("content-type", "text/plain; charset=utf-8");
            },
        ),
        fault(
            "html-404",
            "Unknown paths are answered with a page.",
            &["errors.elsewhere"],
            "the page that a framework has for unknown paths",
        )
        .after(|request, response, _| {
            if !request.is_get() && response.status == 404 {
                response.set_body("text/html", "<h1>Not Found</h1>");
            }
        }),
        fault(
            "plain-405",
            "Methods that are not there are answered with text.",
            &["errors.elsewhere"],
            "a sentence for a method that is not there",
        )
        .after(|_, response, _| {
            if response.status == 405 {
                response.set_body("text/plain", "Method Not Allowed");
            }
        }),
    ]
}
