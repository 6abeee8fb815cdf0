//! Choices about connections.

use super::{Builds, Choice, other, own};

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own("service.complete-answer/connection", "kept", "A connection is kept open for further requests."),
        other("service.complete-answer/connection", "closed-after-each", "Each connection is closed after one answer.")
            .after(|_, response, _| response.set("connection", "close")),
        other("service.complete-answer/connection", "closed-after-errors", "A connection is closed after an error.")
            .after(|_, response, _| {
                if response.status >= 400 {
                    response.set("connection", "close");
                }
            }),
        own("service.json/content-coding", "none", "Bodies have no content coding, and none is named."),
        other("service.json/content-coding", "identity", "Bodies are said to have the content coding identity.")
            .after(|_, response, _| response.set("content-encoding", "identity")),
    ]
}
