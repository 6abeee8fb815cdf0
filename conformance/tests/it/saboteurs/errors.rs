//! Errors.

use serde_json::json;

use super::{Saboteur, saboteur};
use crate::layers::Answer;

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [shapes(), labels()].into_iter().flatten().collect()
}

/// A saboteur whose errors look otherwise.
fn erring(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Answer) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |_, answer, _| {
        if answer.status >= 400 {
            change(answer);
        }
    })
}

fn shapes() -> Vec<Saboteur> {
    vec![
        erring("error-is-a-word", &["errors.shape"], "one member with a sentence in it", |answer| {
            answer.set_json(json!({"error": "it was refused"}));
        }),
        erring("detail", &["errors.shape"], "the error body that a framework comes with", |answer| {
            if answer.status == 400 {
                answer.set_json(json!({"detail": [{"loc": ["body", "name"], "msg": "field required"}]}));
            }
        }),
        erring("nested-error", &["errors.shape"], "an object around the error", |answer| {
            let error = answer.json().unwrap_or_default();
            answer.set_json(json!({ "error": error }));
        }),
        erring("numeric-codes", &["errors.shape"], "codes that are numbers", |answer| {
            answer.edit_error(|error| drop(error.insert("code".to_owned(), json!(1_000))));
        }),
        erring("empty-401", &["errors.shape"], "a filter in front that only sets the status", |answer| {
            if answer.status == 401 {
                answer.body.clear();
                answer.remove("content-type");
            }
        }),
        erring("status-as-string", &["errors.shape"], "a status that is put together as text", |answer| {
            let status = answer.status.to_string();
            answer.edit_error(|error| drop(error.insert("status".to_owned(), json!(status))));
        }),
        erring("no-message", &["errors.shape"], "messages that are left out in production", |answer| {
            answer.edit_error(|error| drop(error.remove("message")));
        }),
        erring("always-400", &["errors.status-member"], "a constant that was copied", |answer| {
            answer.edit_error(|error| drop(error.insert("status".to_owned(), json!(400))));
        }),
        erring("status-0", &["errors.status-member"], "a field that nobody fills in", |answer| {
            answer.edit_error(|error| drop(error.insert("status".to_owned(), json!(0))));
        }),
    ]
}

fn labels() -> Vec<Saboteur> {
    vec![
        erring("problem-json", &["errors.media-type"], "the media type of RFC 9457", |answer| {
            answer.set("content-type", "application/problem+json");
        }),
        erring("text-errors", &["errors.media-type"], "errors sent as text", |answer| {
            answer.set("content-type", "text/plain; charset=utf-8");
        }),
        saboteur("html-404", &["errors.elsewhere"], "the page that a framework has for unknown paths").after(
            |ask, answer, _| {
                if !ask.is_get() && answer.status == 404 {
                    answer.set_body("text/html", "<h1>Not Found</h1>");
                }
            },
        ),
        saboteur("plain-405", &["errors.elsewhere"], "a sentence for a method that is not there").after(
            |_, answer, _| {
                if answer.status == 405 {
                    answer.set_body("text/plain", "Method Not Allowed");
                }
            },
        ),
    ]
}
