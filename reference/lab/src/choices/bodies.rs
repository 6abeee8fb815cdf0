//! Choices about ambiguous bodies, which some servers refuse and others read.

use super::{Build, Choice, other, own};
use crate::Request;

/// Another body, where that of a creation holds this text.
fn rewritten(b: &mut Build, holding: &'static str, rewrite: fn(&str) -> String) {
    b.edit(move |request| {
        if request.is_create() && request.holds(holding) {
            request.body = rewrite(&String::from_utf8_lossy(&request.body)).into_bytes();
        }
    });
}

/// Another refusal, or one at all, of creations that hold this text.
fn refused(b: &mut Build, holding: String, status: u16) {
    b.after(move |request, response| {
        if request.is_create() && request.holds(&holding) && matches!(response.status, 201 | 400 | 413) {
            response.refuse(status);
        }
    });
}

pub(super) const CHOICES: &[Choice] = &[
    own("create.success/length", "length-optional", "A creation without Content-Length is read as it comes."),
    other("create.success/length", "length-required")
        .does("A POST without Content-Length is answered with 411.")
        .like("a server that reads no body of unknown length (RFC 9110 section 15.5.12)")
        .make(|b| {
            let lacks_length = |request: &Request| request.is_create() && request.header("content-length").is_empty();
            b.after(move |request, response| {
                if lacks_length(request) && response.status == 400 {
                    response.refuse(411);
                }
            });
            b.edit(move |request| {
                if lacks_length(request) {
                    request.body.clear();
                }
            });
        }),
    own("create.success/large", "large-refused", "Bodies over 64 KiB are refused with 413."),
    other("create.success/large", "large-read")
        .does("Bodies of some hundred KiB are read.")
        .like("a larger bound")
        .make(|b| rewritten(b, "                ", |text| text.split("  ").filter(|part| !part.is_empty()).collect())),
    own("create.success/deep", "deep-read", "A body that is nested deeply is read."),
    other("create.success/deep", "deep-refused")
        .does("A body that is nested deeply is refused with 422.")
        .like("a bound on depth")
        .make(|b| refused(b, "[".repeat(1_000), 422)),
    own("create.malformed-json/half-pair", "half-pair-refused", "Half of a surrogate pair is refused with 400."),
    other("create.malformed-json/half-pair", "half-pair-replaced")
        .does("Half of a surrogate pair becomes a replacement character.")
        .like("a decoder that replaces what it cannot read")
        .make(|b| rewritten(b, r"\ud800", |text| text.replace(r"\ud800", r"\ufffd"))),
    own("create.category-int64", "any-digits", "A category id of a thousand digits is refused with 400."),
    other("create.category-int64", "too-many-digits")
        .does("A category id of a thousand digits is refused with 413.")
        .like("a bound on the digits of a number")
        .make(|b| refused(b, "9".repeat(1_000), 413)),
];
