//! Who is let in, how often, and what the headers say of it.

use axum::http::HeaderMap;

use super::{Inner, KEY, MINUTE, PER_DAY, Reply, Shared, http_date};
use crate::faults::Fault;

impl Shared {
    pub(super) fn is_authentic(&self, headers: &HeaderMap) -> bool {
        let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
        let Some(token) =
            value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ").filter(|_| !self.nature.odd))
        else {
            return false;
        };
        token == KEY || self.has(Fault::TakesSuffixes) && token.starts_with(KEY)
    }

    /// Counts a request with a valid key, and says whether it is within the limit.
    pub(super) fn admit(&self, inner: &mut Inner<'_>) -> bool {
        let time = self.now();
        if time >= inner.count.window_ends {
            // The odd one begins a window with its first request, the other on the clock.
            let begins = if self.nature.odd { time } else { time - time % MINUTE };
            inner.count.window_ends = begins + MINUTE;
            inner.count.used = 0;
            inner.count.refused = 0;
        }
        if inner.count.used >= self.nature.limit {
            return false;
        }
        inner.count.used += 1;
        inner.count.used_today += 1;
        true
    }

    pub(super) fn with_rate_limit(&self, inner: &mut Inner<'_>, mut reply: Reply, remaining: Option<u64>) -> Reply {
        let (limit, remaining, reset) = match remaining {
            Some(_) if self.nature.reports_day => {
                (PER_DAY, PER_DAY - inner.count.used_today, self.now() - self.now() % 86_400 + 86_400)
            }
            Some(remaining) => (self.nature.limit, remaining, inner.count.window_ends),
            None if self.nature.odd => (10, 9, self.now() + 60),
            None => (0, 0, self.now() - self.now() % 60 + 60),
        };
        reply.headers.push(("x-ratelimit-limit", limit.to_string()));
        reply.headers.push(("x-ratelimit-remaining", remaining.to_string()));
        if !self.has(Fault::NoReset) {
            reply.headers.push(("x-ratelimit-reset", reset.to_string()));
        }
        reply.headers.push(("date", http_date(self.now())));
        reply
    }
}
