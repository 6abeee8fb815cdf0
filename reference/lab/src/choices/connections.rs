//! Choices about connections.

use super::{Build, Choice, other, own};
use crate::Response;

/// Closes connections after some answers, and says so.
fn closing(b: &mut Build, after: fn(&Response) -> bool) {
    b.after(move |_, response| {
        if after(response) {
            response.set("connection", "close");
        }
    });
}

pub(super) const CHOICES: &[Choice] = &[
    own("service.complete-answer/connection", "kept", "A connection is kept open for further requests."),
    other("service.complete-answer/connection", "closed-after-each")
        .does("Each connection is closed after one answer.")
        .like("HTTP/1.0, and servers that hold nothing open")
        .make(|b| closing(b, |_| true)),
    other("service.complete-answer/connection", "closed-after-errors")
        .does("A connection is closed after an error.")
        .like("servers that do not read the rest of a refused request")
        .make(|b| closing(b, |response| response.status >= 400)),
    own("service.json/content-coding", "none", "Bodies have no content coding, and none is named."),
    other("service.json/content-coding", "identity")
        .does("Bodies are said to have the content coding identity.")
        .like("a proxy that names what it does not do")
        .make(|b| b.after(|_, response| response.set("content-encoding", "identity"))),
];
