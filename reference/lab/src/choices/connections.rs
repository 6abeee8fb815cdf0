//! Choices about connections.

use super::{Build, Choice, other, own};
use crate::{Layer, Response};

/// Closes connections after some answers, and says so.
fn closing(b: &mut Build, after: fn(&Response) -> bool) {
    b.layer(Layer::default().after(move |_, response, _| {
        if after(response) {
            response.set("connection", "close");
        }
    }));
}

pub(super) const CHOICES: &[Choice] = &[
    own("service.complete-answer/connection", "kept", "A connection is kept open for further requests."),
    other(
        "service.complete-answer/connection",
        "closed-after-each",
        "Each connection is closed after one answer.",
        "HTTP/1.0, and servers that hold nothing open",
        |b| closing(b, |_| true),
    ),
    other(
        "service.complete-answer/connection",
        "closed-after-errors",
        "A connection is closed after an error.",
        "servers that do not read the rest of a refused request",
        |b| closing(b, |response| response.status >= 400),
    ),
    own("service.json/content-coding", "none", "Bodies have no content coding, and none is named."),
    other(
        "service.json/content-coding",
        "identity",
        "Bodies are said to have the content coding identity.",
        "a proxy that names what it does not do",
        |b| b.layer(Layer::default().after(|_, response, _| response.set("content-encoding", "identity"))),
    ),
];
