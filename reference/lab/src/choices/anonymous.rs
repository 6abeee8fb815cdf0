//! Choices about callers without a key: the limit that their requests count against, and the rate-limit headers that they get.

use super::{Build, Choice, other, own};
use crate::Layer;

/// The number of requests that callers without a key may send in a minute.
const ALLOWANCE: u64 = 40;

/// Reports a limit to callers without a valid key.
fn anonymous(limit: i64) -> Layer {
    Layer::default().after(move |_, response, server| {
        if response.status == 401 {
            let used = (server.count() % limit.unsigned_abs()).cast_signed();
            response.set("x-ratelimit-limit", limit);
            response.set("x-ratelimit-remaining", limit - 1 - used);
            response.set("x-ratelimit-reset", server.now() + 30);
        }
    })
}

/// A minute, and the number of requests without a valid key in it.
#[derive(Default)]
struct Allowance(i64, u64);

/// Counts requests without a valid key by themselves, and refuses those beyond an allowance.
fn allowance(b: &mut Build) {
    const MINUTE: i64 = 60;
    b.layer(Layer::default().after(|request, response, server| {
        let is_open =
            request.authorization().split_once(' ').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if response.status != 401 || is_open && server.key_of(request).is_some() {
            return;
        }
        let now = server.now();
        let minute = now - now.rem_euclid(MINUTE);
        let used = server.own(|Allowance(last, used)| {
            *used = if *last == minute { *used + 1 } else { 1 };
            *last = minute;
            *used
        });
        if used > ALLOWANCE {
            response.refuse(429);
            response.set("retry-after", minute + MINUTE - now);
        }
        response.set("x-ratelimit-limit", ALLOWANCE);
        response.set("x-ratelimit-remaining", ALLOWANCE.saturating_sub(used));
        response.set("x-ratelimit-reset", minute + MINUTE);
    }));
}

/// Choices about callers without a key.
pub const CHOICES: &[Choice] = &[
    own("headers.anonymous", "nothing", "A caller without a key gets a limit of 0, and uses nothing up."),
    other("headers.anonymous", "small")
        .does("A caller without a key gets an allowance of 10.")
        .like("a guest")
        .make(|b| b.layer(anonymous(10))),
    other("headers.anonymous", "large")
        .does("A caller without a key gets an allowance of 5,000.")
        .like("a proxy")
        .make(|b| b.layer(anonymous(5_000))),
    other("headers.anonymous", "counted-by-address")
        .does("Requests without a key count against the limit of the key that was used last.")
        .like("a limiter that knows callers by their address")
        .make(|b| b.limit(|policy| policy.by_address = true)),
    other("headers.anonymous", "forty-a-minute")
        .does("Callers without a key have an allowance of forty requests a minute, and get 429 beyond it.")
        .like("a limiter by address in front of the check of keys")
        .make(allowance),
];
