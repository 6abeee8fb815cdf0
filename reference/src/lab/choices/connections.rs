//! Choices about connections, and about callers without a key.

use std::sync::{Mutex, PoisonError};

use super::{Build, Choice, other, own};
use crate::lab::{Layer, Response};

/// What callers without a key may send in a minute.
const ALLOWANCE: u64 = 40;

/// Closes connections after some answers, and says so.
fn closing(b: &mut Build, after: fn(&Response) -> bool) {
    b.layer(Layer::default().after(move |_, response, _| {
        if after(response) {
            response.set("connection", "close");
        }
    }));
}

/// Counts requests without a valid key by themselves, and refuses those beyond an allowance.
fn allowance(b: &mut Build) {
    const MINUTE: i64 = 60;
    let used: Mutex<(i64, u64)> = Mutex::default();
    b.layer(Layer::default().after(move |request, response, server| {
        let is_open =
            request.authorization().split_once(' ').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if response.status != 401 || is_open && server.key_of(request).is_some() {
            return;
        }
        let now = server.now();
        let minute = now - now.rem_euclid(MINUTE);
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = if used.0 == minute { (minute, used.1 + 1) } else { (minute, 1) };
        if used.1 > ALLOWANCE {
            response.refuse(429);
            response.set("retry-after", minute + MINUTE - now);
        }
        response.set("x-ratelimit-limit", ALLOWANCE);
        response.set("x-ratelimit-remaining", ALLOWANCE.saturating_sub(used.1));
        response.set("x-ratelimit-reset", minute + MINUTE);
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
    own("headers.anonymous/allowance", "none", "Callers without a key are always answered with 401."),
    other(
        "headers.anonymous/allowance",
        "forty-a-minute",
        "Callers without a key have an allowance of forty requests a minute, and get 429 beyond it.",
        "a limiter by address in front of the check of keys",
        allowance,
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
