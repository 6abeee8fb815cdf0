//! Who is let in, how often, and what the headers say of it.

use axum::http::{HeaderMap, Method};

use super::{Inner, KEY, MINUTE, PER_DAY, Reply, Shared, http_date};
use crate::faults::Fault;

impl Shared {
    pub(super) fn is_authentic(&self, method: &Method, headers: &HeaderMap) -> bool {
        let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
        let Some(token) =
            value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ").filter(|_| !self.nature.odd))
        else {
            return false;
        };
        match self.nature.fault {
            Some(Fault::TakesSuffixes) => token.starts_with(KEY),
            Some(Fault::RefusesKeyOnCreate) => token == KEY && method != Method::POST,
            _ => token == KEY,
        }
    }

    /// Counts a request with a valid key, and says whether it is within the limit.
    pub(super) fn admit(&self, inner: &mut Inner<'_>) -> bool {
        let time = self.now();
        let stays = self.has(Fault::NeverRecovers) && inner.count.refused_before;
        if time >= inner.count.window_ends && !stays {
            // The odd one begins a window with its first request, the other on the clock.
            inner.count.window_ends = if self.has(Fault::WindowsOfSeconds) {
                time + 2
            } else if self.nature.odd {
                time + MINUTE
            } else {
                time - time % MINUTE + MINUTE
            };
            inner.count.used = 0;
            inner.count.refused = 0;
        }
        if inner.count.used >= self.nature.limit {
            inner.count.refused_before = true;
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
        let shown = if self.has(Fault::NothingRemains) { 0 } else { remaining };
        reply.headers.push(("x-ratelimit-limit", limit.to_string()));
        reply.headers.push(("x-ratelimit-remaining", shown.to_string()));
        if !self.has(Fault::NoReset) {
            reply.headers.push(("x-ratelimit-reset", reset.to_string()));
        }
        reply.headers.push(("date", http_date(self.now())));
        reply
    }
}
