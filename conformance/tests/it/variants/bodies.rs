//! Choices about bodies that are hard to read: what one server refuses, another reads.

use super::Choice;
use crate::layers::{Layer, Request};

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
    Choice {
        axis: "large bodies",
        name: "of any size are read",
        make: |b| rewritten(b, "                ", |text| text.split("  ").filter(|part| !part.is_empty()).collect()),
    },
    Choice { axis: "deep bodies", name: "are refused with 422", make: |b| refused(b, "[".repeat(1_000), 422) },
    Choice {
        axis: "half of a surrogate pair",
        name: "becomes a replacement character",
        make: |b| rewritten(b, r"\ud800", |text| text.replace(r"\ud800", r"\ufffd")),
    },
    Choice { axis: "thousands of digits", name: "are refused with 413", make: |b| refused(b, "9".repeat(1_000), 413) },
];
