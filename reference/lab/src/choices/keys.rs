//! Choices about the life of keys, after which the server stays lawful, and serves its client no longer.

use std::collections::HashSet;

use super::intermediaries::page;
use super::{Builds, Choice, between, own};

/// The axis of the choices. Clients that need the server to the end cannot do with them.
pub(super) const AXIS: &str = "auth.key-lifecycle";

/// The number of requests with a key after which it is revoked.
const USES: u64 = 50;

/// The number of unknown keys after which an address is locked out.
const UNKNOWN: usize = 20;

/// The time for which an address is locked out, in seconds.
const LOCKED_FOR: i64 = 60;

/// The unknown credentials that were refused, and the end of the lock-out.
#[derive(Default)]
struct Refused {
    credentials: HashSet<String>,
    locked_until: i64,
}

impl Choice {
    /// Refuses every request with this status while the address is locked out.
    fn locks_out(self, status: u16) -> Choice {
        self.before(move |_, server| {
            let now = server.now();
            let left = server.own(|refused: &mut Refused| refused.locked_until - now);
            (left > 0).then(|| {
                let mut response = page(status, "Too many attempts");
                if status == 429 {
                    response.set("retry-after", left);
                }
                response
            })
        })
        .answered(401, |request, _, server| {
            let (now, value) = (server.now(), request.authorization());
            server.own(|refused: &mut Refused| {
                refused.credentials.extend((!value.is_empty()).then(|| value.to_owned()));
                if refused.credentials.len() >= UNKNOWN {
                    *refused = Refused { locked_until: now + LOCKED_FOR, ..Refused::default() };
                }
            });
        })
    }
}

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own(AXIS, "valid-throughout", "A key that is valid when the server starts stays valid."),
        between(AXIS, "revoked", "A key is unknown from its 51st request on.").disowns(|number| number > USES),
        between(AXIS, "locks-out", "After 20 unknown keys all requests of the address get 403 for a minute.")
            .locks_out(403),
        between(AXIS, "locks-out-with-429", "After 20 unknown keys all requests of the address get 429 for a minute.")
            .locks_out(429),
    ]
}
