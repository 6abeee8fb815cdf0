//! Choices about callers without a key: the limit that their requests count against, and the rate-limit headers that they get.

use super::{Builds, Choice, other, own};

/// The number of requests that callers without a key may send in a minute.
const ALLOWANCE: u64 = 40;

impl Choice {
    /// Reports a limit to callers without a valid key.
    fn reports_to_anonymous(self, limit: i64) -> Choice {
        self.answered(401, move |_, response, server| {
            let used = (server.count() % limit.unsigned_abs()).cast_signed();
            response.set_limits(limit, limit - 1 - used, server.now() + 30);
        })
    }
}

/// Choices about callers without a key.
pub fn choices() -> Vec<Choice> {
    vec![
        own("headers.anonymous", "nothing", "A caller without a key gets a limit of 0, and uses nothing up."),
        other("headers.anonymous", "small", "A caller without a key gets an allowance of 10.").reports_to_anonymous(10),
        other("headers.anonymous", "large", "A caller without a key gets an allowance of 5,000.")
            .reports_to_anonymous(5_000),
        other("headers.anonymous", "whole", "A caller without a key is shown an unused minute.")
            .answered(401, |_, response, server| response.set_limits(60, 60, server.window_end())),
        other("headers.anonymous", "counted-by-address", "Requests without a key count against the last used key.")
            .limits(|policy| policy.by_address = true),
        other("headers.anonymous", "forty-a-minute", "Callers without a key may send forty requests a minute.")
            .answered(401, |request, response, server| {
                let is_bearer = |scheme: &str| scheme.eq_ignore_ascii_case("bearer");
                let is_open = request.authorization().split_once(' ').is_some_and(|(scheme, _)| is_bearer(scheme));
                if is_open && server.key_of(request).is_some() {
                    return;
                }
                let used = server.count_within(server.window());
                if used > ALLOWANCE {
                    response.refuse_for(server.window_end() - server.now());
                }
                response.set_limits(ALLOWANCE, ALLOWANCE.saturating_sub(used), server.window_end());
            }),
    ]
}
