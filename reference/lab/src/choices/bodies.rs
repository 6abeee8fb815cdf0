//! Choices about ambiguous bodies, which some servers refuse and others read, and about connections.

use super::{Builds, Choice, failure, other, own};
use crate::Request;

impl Choice {
    /// Reads another body, where that of a creation holds this text.
    fn rewrites(self, holding: &'static str, rewrite: fn(&str) -> String) -> Choice {
        self.edit(move |request, _| {
            if request.is_create() && request.holds(holding) {
                request.body = rewrite(&String::from_utf8_lossy(&request.body)).into_bytes();
            }
        })
    }

    /// Refuses creations that hold this text with another status, or at all.
    fn refuses_text(self, holding: String, status: u16) -> Choice {
        self.after(move |request, response, _| {
            if request.is_create() && request.holds(&holding) && matches!(response.status, 201 | 400 | 413) {
                response.refuse(status);
            }
        })
    }
}

fn lacks_length(request: &Request) -> bool {
    request.is_create() && request.header("content-length").is_empty()
}

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own("create.success/length", "length-optional", "A creation without Content-Length is read as it comes."),
        other("create.success/length", "length-required", "A POST without Content-Length gets 411.")
            .turns([400, 411], lacks_length)
            .edits(lacks_length, |request| request.body.clear()),
        own("create.success/large", "large-refused", "Bodies over 64 KiB are refused with 413."),
        other("create.success/large", "large-read", "Bodies of some hundred KiB are read.")
            .rewrites("                ", |text| text.split("  ").filter(|part| !part.is_empty()).collect()),
        own("create.success/deep", "deep-read", "A body that is nested deeply is read."),
        other("create.success/deep", "deep-refused", "A body that is nested deeply is refused with 422.")
            .refuses_text("[".repeat(1_000), 422),
        own("create.malformed-json/half-pair", "half-pair-refused", "Half of a surrogate pair is refused with 400."),
        other("create.malformed-json/half-pair", "half-pair-replaced", "Half of a surrogate pair is replaced.")
            .rewrites(r"\ud800", |text| text.replace(r"\ud800", r"\ufffd")),
        own("create.category-int64", "any-digits", "A category id of a thousand digits is refused with 400."),
        other("create.category-int64", "too-many-digits", "A category id of a thousand digits is refused with 413.")
            .refuses_text("9".repeat(1_000), 413),
        own("service.complete-answer/connection", "kept", "A connection is kept open for further requests."),
        other("service.complete-answer/connection", "closed-after-each", "Each connection is closed after one answer.")
            .after(|_, response, _| response.set("connection", "close")),
        other("service.complete-answer/connection", "closed-after-errors", "A connection is closed after an error.")
            .sends(failure, |response| response.set("connection", "close")),
        own("service.json/content-coding", "none", "Bodies have no content coding, and none is named."),
        other("service.json/content-coding", "identity", "Bodies are said to have the content coding identity.")
            .after(|_, response, _| response.set("content-encoding", "identity")),
    ]
}
