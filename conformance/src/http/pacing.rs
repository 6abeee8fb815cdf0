//! The time of the next request, computed from the rate-limit headers of the last response and from `Retry-After`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::rate_limit::{self, Window};
use animal_store_rules::trace::retry_after;

/// The longest single wait: a one-minute window, and a `Retry-After` somewhat beyond it.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// The longest wait for the end of a ban that refused requests may have caused.
pub(crate) const LONGEST_BAN: Duration = Duration::from_secs(330);

/// The shortest wait after a 429.
pub(crate) const MOMENT: Duration = Duration::from_secs(1);

/// The maximum of announced times. Longer times are reduced to it, because all of them are too long.
const FAR: SignedDuration = SignedDuration::from_secs(1 << 32);

/// The wait beyond the time that a refusal announces, after which rules can judge another refusal.
const HEEDED: Duration = Tolerance::CLOCK_SLACK.unsigned();

/// The wait beyond an announced reset.
const MARGIN: Duration = Tolerance::ANNOUNCED_MARGIN.unsigned();

/// The advice before the next request with the same key. More cautious advice is greater.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Advice {
    /// Send it at once.
    Go,
    /// Wait this long first.
    Wait(Duration),
    /// The announced wait exceeds [`LONGEST_WAIT`].
    TooLong(Duration),
}

fn advise(wait: Duration) -> Advice {
    if wait > LONGEST_WAIT + HEEDED { Advice::TooLong(wait) } else { Advice::Wait(wait) }
}

/// The window that a response reports, if its header fields can be read.
pub(crate) fn window_of(exchange: &Exchange) -> Option<Window> {
    rate_limit::read(exchange.response()?).window()
}

/// The advice before `count` concurrent requests, by the last response to the key: wait for the window's reset when they do not
/// fit.
///
/// Remaining may be reported before the request is counted, so both 0 and 1 may mean that the window is exhausted.
pub(crate) fn before_many(exchange: &Exchange, count: usize) -> Advice {
    let Some(window) = window_of(exchange) else { return Advice::Go };
    // With a limit this small, every batch would wait for a reset.
    if window.remaining > count as u64 || window.limit < 10 * count as u64 && window.limit < 60 {
        return Advice::Go;
    }
    let left = until(window.reset, exchange);
    if left.is_negative() { Advice::Go } else { advise(bounded(left) + MARGIN) }
}

/// Returns true if a response asks its client to wait: a 429, or the 403 of a second limit in front of the service, whose `Retry-After`
/// names a time that is not too long. Any 403 is lawful for `GET /store/orders`.
pub(crate) fn asks_to_wait(exchange: &Exchange) -> bool {
    match exchange.status() {
        Some(429) => true,
        Some(403) => {
            exchange.request.path != "/store/orders"
                && exchange.response().is_some_and(|response| retry_after::read(response).is_ok())
                && !matches!(after_refusal(exchange, 0, 0.0), Advice::TooLong(_))
        }
        _ => false,
    }
}

/// The advice after a refusal: wait as long as `Retry-After` says, as rules read it, else until the reset. After a refusal without either,
/// wait for [`MOMENT`] at first, and later for a whole minute, after which any window of a minute has ended.
pub(crate) fn after_refusal(exchange: &Exchange, attempt: u32, jitter: f64) -> Advice {
    let backoff = MOMENT.mul_f64(f64::from(2_u32.saturating_pow(attempt.min(6))) * (1.0 + jitter));
    let unannounced = if attempt == 0 { backoff } else { Tolerance::LONGEST_MINUTE.unsigned() };
    advise(
        announced(exchange)
            .map_or(unannounced, |announced| (announced + HEEDED).max(backoff.min(announced * 2 + HEEDED))),
    )
}

/// The time from a refusal until the key may be used again, as the server announces it: by `Retry-After`, else by the reset. A reset that
/// comes a moment after `Retry-After`, because one of them is rounded, is awaited too: both must have passed for another refusal to be a
/// fault. If the clocks of `Date` and of the judge differ by little, a `Retry-After` that is a time has passed when it has passed on both: a
/// gateway may write `Date`.
pub(crate) fn announced(refused: &Exchange) -> Option<Duration> {
    let response = refused.response()?;
    let asked_for = retry_after::read(response).ok().map(|retry_after| {
        let [by_date, by_own] = [answered_at(refused), refused.received_at].map(|at| retry_after.wait(at));
        if by_own - by_date <= Tolerance::MINUTE.duration() { by_date.max(by_own) } else { by_date }
    });
    let reset = rate_limit::read(response).reset.integer().map(|reset| until(reset, refused));
    let announced = match (asked_for, reset) {
        (Some(from), Some(reset)) if (from..=from.saturating_add(Tolerance::ROUNDING.duration())).contains(&reset) => {
            Some(reset)
        }
        _ => asked_for.or(reset),
    };
    announced.map(bounded)
}

/// The time from a response to a Unix time, by the server's clock.
fn until(time: i64, exchange: &Exchange) -> SignedDuration {
    SignedDuration::from_secs(time.saturating_sub(answered_at(exchange).as_second()))
}

/// The time of a response, by the clock that its Unix times refer to: its `Date`, unless only the judge's own clock puts the end of the
/// window within the next minute. Then a gateway wrote `Date`.
pub(crate) fn answered_at(exchange: &Exchange) -> Timestamp {
    let dated = exchange.answered_at();
    let is_near = |reset: i64, now: Timestamp| {
        let slack = Tolerance::CLOCK_SLACK.seconds();
        (-slack..=Tolerance::LONGEST_MINUTE.seconds()).contains(&reset.saturating_sub(now.as_second()))
    };
    match exchange.response().and_then(|response| rate_limit::read(response).reset.integer()) {
        Some(reset) if is_near(reset, exchange.received_at) && !is_near(reset, dated) => exchange.received_at,
        _ => dated,
    }
}

/// A time to wait for, which can be added to without overflow.
fn bounded(wait: SignedDuration) -> Duration {
    wait.clamp(SignedDuration::ZERO, FAR).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::trace::exchange::{Outcome, Request, Response};
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::Timestamp;

    fn response(status: u16, headers: &[(&str, &str)]) -> Exchange {
        let mut all = vec![("date".to_owned(), "Thu, 01 Jan 1970 01:00:00 GMT".to_owned())];
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Exchange {
            number: 1,
            probe: "test".into(),
            step: String::new(),
            request: Request::new("GET", "/pets"),
            outcome: Outcome::Response(Response { status, headers: all, body: Vec::new(), cut: false }),
            sent_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            known: Knowledge::default(),
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
    fn retry_after_is_followed_if_rules_can_read_it_and_else_the_reset() {
        const FOLLOWED: Option<u64> = Some(32);
        const RESET: Option<u64> = Some(22);
        const TOO_LONG: Option<u64> = None;
        for (values, expected) in [
            (&["30"][..], FOLLOWED),
            (&["Thu, 01 Jan 1970 01:00:30 GMT"], FOLLOWED),
            (&["90"], Some(92)),
            (&["91"], TOO_LONG),
            (&["99999999999"], TOO_LONG),
            (&["99999999999999999999"], TOO_LONG),
            (&["Thu, 01 Jan 2099 00:00:00 GMT"], TOO_LONG),
            (&["+30"], RESET),
            (&["30.5"], RESET),
            (&["soon"], RESET),
            (&["Fri, 01 Jan 1970 01:00:30 GMT"], RESET),
            (&["30", "40"], RESET),
        ] {
            let fields = values.iter().map(|value| ("retry-after", *value)).chain([(rate_limit::RESET, "3620")]);
            let wait = match after_refusal(&response(429, &fields.collect::<Vec<_>>()), 0, 0.0) {
                Advice::Wait(time) => Some(time.as_secs()),
                _ => None,
            };
            assert_eq!(wait, expected, "{values:?}");
        }
    }

    #[test]
    fn a_time_in_retry_after_has_passed_on_the_clock_of_a_gateway_and_on_that_of_the_judge() {
        // By its Date, the answer went out at 3600.
        let waits = |received: i64| {
            let mut refused = response(429, &[("retry-after", "Thu, 01 Jan 1970 01:00:30 GMT")]);
            refused.received_at = Timestamp::from_second(received).expect("a time");
            announced(&refused).expect("a wait").as_secs()
        };
        assert_eq!(waits(3_595), 35, "Date is ahead");
        assert_eq!(waits(3_605), 30, "Date is behind");
        assert_eq!(waits(3_000), 30, "the clock of the judge is wrong");
    }

    #[test]
    fn a_reset_a_moment_after_retry_after_is_awaited_and_no_other_one() {
        let wait = |reset: i64| {
            announced(&response(429, &[("retry-after", "14"), (rate_limit::RESET, &(3_600 + reset).to_string())]))
        };
        for (reset, seconds) in [(15, 15), (16, 16), (17, 14), (13, 14), (60, 14)] {
            assert_eq!(wait(reset), Some(Duration::from_secs(seconds)), "{reset}");
        }
    }

    #[test]
    fn a_403_asks_to_wait_if_it_names_a_short_time_and_is_not_for_orders() {
        let forbidden = |retry_after: &str| response(403, &[("retry-after", retry_after)]);
        assert!(asks_to_wait(&forbidden("1")) && asks_to_wait(&response(429, &[])));
        for other in [forbidden("soon"), forbidden("86400"), response(403, &[]), response(503, &[("retry-after", "1")])]
        {
            assert!(!asks_to_wait(&other), "{:?}", other.outcome);
        }
        let mut orders = forbidden("1");
        orders.request.path = "/store/orders".to_owned();
        assert!(!asks_to_wait(&orders));
    }

    #[test]
    fn the_date_of_a_gateway_is_not_the_time_of_an_answer() {
        // By its Date, the answer went out at 3600.
        let answered = |received: i64, reset: i64| {
            let mut exchange = response(200, &[("x-ratelimit-reset", &reset.to_string())]);
            exchange.received_at = Timestamp::from_second(received).expect("a time");
            answered_at(&exchange).as_second()
        };
        assert_eq!(answered(3_480, 3_500), 3_480, "only the judge's clock puts the reset ahead");
        assert_eq!(answered(3_480, 3_630), 3_600, "the server's clock is ahead");
        assert_eq!(answered(3_480, 90_000), 3_600, "a day");
    }
}
