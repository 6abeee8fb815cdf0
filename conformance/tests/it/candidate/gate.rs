//! Who is let in, how often, and what the headers say of it.

use axum::http::{HeaderMap, Method};

use super::{Inner, KEY, MINUTE, PER_DAY, Reply, Shared, http_date};
use crate::faults::Fault;

impl Shared {
    pub(super) fn is_authentic(&self, method: &Method, query: &str, headers: &HeaderMap) -> bool {
        let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
        if self.has(Fault::ListsWithoutKey) && method == Method::GET && value.is_empty() {
            return true;
        }
        let basic = "Basic c2stQ2FuZGlkYXRlLUtleS0wMDAxOnNrLUNhbmRpZGF0ZS1LZXktMDAwMQ==";
        if self.has(Fault::TakesBasic) && value == basic {
            return true;
        }
        if self.has(Fault::TakesKeyFromQuery) && query.contains(KEY)
            || self.has(Fault::TakesAnyScheme) && value.ends_with(KEY)
        {
            return true;
        }
        let Some(token) =
            value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ").filter(|_| !self.nature.odd))
        else {
            return false;
        };
        match self.nature.fault {
            Some(Fault::TakesAnyKey) => !token.is_empty(),
            Some(Fault::TakesPrefixes) => KEY.starts_with(token) && !token.is_empty(),
            Some(Fault::TakesSuffixes) => token.starts_with(KEY),
            Some(Fault::TakesAnyCase) => token.eq_ignore_ascii_case(KEY),
            Some(Fault::RefusesKeyOnCreate) => token == KEY && method != Method::POST,
            _ => token == KEY,
        }
    }

    /// Counts a request with a valid key, and says whether it is within the limit.
    pub(super) fn admit(&self, inner: &mut Inner) -> bool {
        let time = self.now();
        let early_end = self.has(Fault::ResetsTooEarly) && inner.used == 20;
        let stays = self.has(Fault::NeverRecovers) && inner.refused_before;
        if time >= inner.window_ends && !stays {
            // The odd one begins a window with its first request, the other on the clock.
            inner.window_ends = if self.has(Fault::WindowsOfSeconds) {
                time + 2
            } else if self.nature.odd {
                time + MINUTE
            } else {
                time - time % MINUTE + MINUTE
            };
            inner.used = 0;
            inner.refused = 0;
        } else if early_end {
            inner.used = 0;
        }
        let limit = match self.nature.fault {
            Some(Fault::NeverLimits) => u64::MAX,
            Some(Fault::LimitsOneLate) => self.nature.limit + 1,
            Some(Fault::LimitsTooEarly) => self.nature.limit - 10,
            Some(Fault::LimitsOneEarly) => self.nature.limit - 1,
            _ => self.nature.limit,
        };
        if inner.used >= limit {
            inner.refused_before = true;
            return false;
        }
        let counted = u64::from(!self.has(Fault::CountsNothing));
        inner.used += counted;
        inner.used_today += counted;
        true
    }

    pub(super) fn metered(&self, inner: &mut Inner, mut reply: Reply, remaining: Option<u64>) -> Reply {
        let (limit, remaining, reset) = match remaining {
            Some(_) if self.nature.reports_day => {
                (PER_DAY, PER_DAY - inner.used_today, self.now() - self.now() % 86_400 + 86_400)
            }
            Some(remaining) => (self.nature.limit, remaining, inner.window_ends),
            None if self.nature.odd => (10, 9, self.now() + 60),
            None => (0, 0, self.now() - self.now() % 60 + 60),
        };
        let told = if self.has(Fault::RemainingJumps) && remaining > 100 {
            remaining - 7 * (self.now() % 2) - inner.used % 3 * 5
        } else {
            remaining
        };
        reply.headers.push(("x-ratelimit-limit", limit.to_string()));
        reply.headers.push(("x-ratelimit-remaining", told.to_string()));
        reply.headers.push(("x-ratelimit-reset", reset.to_string()));
        reply.headers.push(("date", http_date(self.now())));
        reply
    }
}
