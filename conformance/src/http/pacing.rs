//! When to send the next request: by the rate-limit headers of the last response, and by `Retry-After`.

use std::time::Duration;

use jiff::Timestamp;

use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::rate_limit;

/// The longest single wait: a one-minute window, and a `Retry-After` somewhat beyond it.
pub const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// Longer announced times are treated alike.
const FAR: i64 = 1 << 32;

/// Added to an announced time, because it is rounded to the second.
const MARGIN: Duration = Duration::from_secs(1);

/// What to do before the next request with the same key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advice {
    /// Send it.
    Go,
    /// Wait this long first.
    Wait(Duration),
    /// The wait would exceed [`LONGEST_WAIT`].
    TooLong(Duration),
}

fn advise(wait: Duration) -> Advice {
    if wait > LONGEST_WAIT { Advice::TooLong(wait) } else { Advice::Wait(wait) }
}

/// The advice before `count` concurrent requests, by the last response to the key: wait for the window's reset when they do not
/// fit.
///
/// Remaining may be reported before the request is counted, so 1 may be the last as well as 0.
#[must_use]
pub fn before_many(exchange: &Exchange, count: usize) -> Advice {
    let Some(response) = exchange.response() else { return Advice::Go };
    let Some(window) = rate_limit::read(response).window() else { return Advice::Go };
    // With a limit this small, every batch would wait for a reset.
    if window.remaining > count as u64 || window.limit < 10 * count as u64 && window.limit < 60 {
        return Advice::Go;
    }
    let now = response.date().unwrap_or(exchange.received_at).as_second();
    match window.reset.saturating_sub(now) {
        ..0 => Advice::Go,
        seconds => advise(seconds_ahead(seconds) + MARGIN),
    }
}

/// The advice after a 429: wait as `Retry-After` indicates, else until the reset, else with exponential backoff.
#[must_use]
pub fn after_refusal(exchange: &Exchange, attempt: u32, jitter: f64) -> Advice {
    let backoff = Duration::from_secs_f64(f64::from(2_u32.saturating_pow(attempt.min(6))) * (1.0 + jitter));
    let Some(response) = exchange.response() else { return advise(backoff) };
    let now = response.date().unwrap_or(exchange.received_at).as_second();
    let until = |time: i64| seconds_ahead(time.saturating_sub(now));
    let announced = response.header("retry-after").and_then(|text| match text.parse::<u64>() {
        Ok(seconds) => Some(seconds_ahead(seconds.try_into().unwrap_or(FAR))),
        Err(_) => Some(until(Timestamp::try_from(httpdate::parse_http_date(text).ok()?).ok()?.as_second())),
    });
    let reset = || rate_limit::read(response).reset.integer().map(until);
    advise(announced.or_else(reset).map_or(backoff, |wait| (wait + MARGIN).max(backoff.min(wait * 2 + MARGIN))))
}

fn seconds_ahead(seconds: i64) -> Duration {
    Duration::from_secs(seconds.clamp(0, FAR).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::trace::exchange::{Outcome, Request, Response};

    fn response(status: u16, headers: &[(&str, &str)]) -> Exchange {
        let mut all = vec![("date".to_owned(), "Thu, 01 Jan 1970 01:00:00 GMT".to_owned())];
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Exchange {
            number: 1,
            probe: "test",
            step: String::new(),
            case: None,
            request: Request::new("GET", "/pets"),
            outcome: Outcome::Response(Response { status, headers: all, body: Vec::new(), cut: false }),
            sent_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn window(remaining: &str, reset: &str) -> Exchange {
        response(200, &[(rate_limit::LIMIT, "60"), (rate_limit::REMAINING, remaining), (rate_limit::RESET, reset)])
    }

    #[test]
    fn an_exhausted_window_is_awaited_by_the_servers_clock() {
        assert_eq!(before_many(&window("2", "3660"), 1), Advice::Go);
        assert_eq!(before_many(&window("1", "3660"), 1), Advice::Wait(Duration::from_secs(61)));
        assert_eq!(before_many(&window("0", "3590"), 1), Advice::Go);
        assert!(matches!(before_many(&window("0", "90000"), 1), Advice::TooLong(_)));
    }

    #[test]
    fn retry_after_is_followed_in_both_forms_and_capped() {
        let wait = |value: &str| after_refusal(&response(429, &[("retry-after", value)]), 0, 0.0);
        assert_eq!(wait("30"), Advice::Wait(Duration::from_secs(31)));
        assert_eq!(wait("Thu, 01 Jan 1970 01:00:30 GMT"), Advice::Wait(Duration::from_secs(31)));
        assert!(matches!(wait("99999999999"), Advice::TooLong(_)));
        assert!(matches!(wait("Thu, 01 Jan 2099 00:00:00 GMT"), Advice::TooLong(_)));
    }

    #[test]
    fn without_an_announced_time_the_wait_doubles_with_each_attempt() {
        let waits: Vec<Advice> = (0..3).map(|attempt| after_refusal(&response(429, &[]), attempt, 0.5)).collect();
        assert_eq!(waits, [1.5, 3.0, 6.0].map(|seconds| Advice::Wait(Duration::from_secs_f64(seconds))));
    }
}
