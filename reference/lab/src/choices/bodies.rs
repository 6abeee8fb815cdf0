//! Choices about ambiguous bodies, which some servers refuse and others read.

use super::{Choice, other, own};
use crate::{Layer, Request};

fn holds(request: &Request, text: &str) -> bool {
    request.is_create() && request.body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Another body, where that of a creation holds this text.
fn rewritten(b: &mut super::Build, holding: &'static str, rewrite: fn(&str) -> String) {
    b.layer(Layer::default().before(move |request, _| {
        if holds(request, holding) {
            request.body = rewrite(&String::from_utf8_lossy(&request.body)).into_bytes();
        }
        None
    }));
}

/// Another refusal, or one at all, of creations that hold this text.
fn refused(b: &mut super::Build, holding: String, status: u16) {
    b.layer(Layer::default().after(move |request, response, _| {
        if holds(request, &holding) && matches!(response.status, 201 | 400 | 413) {
            response.refuse(status);
        }
    }));
}

pub(super) const CHOICES: &[Choice] = &[
    own("create.success/length", "length-optional", "A creation without Content-Length is read as it comes."),
    other(
        "create.success/length",
        "length-required",
        "A POST without Content-Length is answered with 411.",
        "a server that reads no body of unknown length (RFC 9110 section 15.5.12)",
        |b| {
            let lacks_length = |request: &Request| request.is_create() && request.header("content-length").is_empty();
            b.layer(
                Layer::default()
                    .before(move |request, _| {
                        if lacks_length(request) {
                            request.body.clear();
                        }
                        None
                    })
                    .after(move |request, response, _| {
                        if lacks_length(request) && response.status == 400 {
                            response.refuse(411);
                        }
                    }),
            );
        },
    ),
    own("create.success/large", "large-refused", "Bodies over 64 KiB are refused with 413."),
    other("create.success/large", "large-read", "Bodies of some hundred KiB are read.", "a larger bound", |b| {
        rewritten(b, "                ", |text| text.split("  ").filter(|part| !part.is_empty()).collect());
    }),
    own("create.success/deep", "deep-read", "A body that is nested deeply is read."),
    other(
        "create.success/deep",
        "deep-refused",
        "A body that is nested deeply is refused with 422.",
        "a bound on depth",
        |b| {
            refused(b, "[".repeat(1_000), 422);
        },
    ),
    own("create.malformed-json/half-pair", "half-pair-refused", "Half of a surrogate pair is refused with 400."),
    other(
        "create.malformed-json/half-pair",
        "half-pair-replaced",
        "Half of a surrogate pair becomes a replacement character.",
        "a decoder that replaces what it cannot read",
        |b| rewritten(b, r"\ud800", |text| text.replace(r"\ud800", r"\ufffd")),
    ),
    own("create.category-int64", "any-digits", "A category id of a thousand digits is refused with 400."),
    other(
        "create.category-int64",
        "too-many-digits",
        "A category id of a thousand digits is refused with 413.",
        "a bound on the digits of a number",
        |b| refused(b, "9".repeat(1_000), 413),
    ),
];
