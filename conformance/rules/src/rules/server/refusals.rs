//! What a refusal over the limit says: a `Retry-After` that can be read and that is true, and an Error if anything.

use jiff::{SignedDuration, Timestamp};

use super::errors::misshapen;
use super::exceeding::is_limited;
use super::versioning::http_date;
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::limiter::bans::REPEATED;
use crate::rules::{Judgement, Rule};
use crate::trace::exchange::Response;
use crate::trace::rate_limit::Window;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("quota.retry-after", retry_after),
    Rule::new("quota.recovers", recovers),
    Rule::new("quota.error-body", error_body),
];

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// The longest that the first 429 of a window can ask for: the rest of a day, and a little.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(86_400 + 60);

/// Waits longer than this many seconds are all the same, and can be added to without overflow.
const FAR: i64 = 1 << 40;

/// Clocks are told to the second.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// A `Retry-After` that RFC 9110 knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RetryAfter {
    /// Whole seconds.
    Seconds(u64),
    /// A date.
    Date(Timestamp),
}

/// Reads `Retry-After`; what is wrong with it, if it cannot be read.
pub(crate) fn read_retry_after(response: &Response) -> Result<RetryAfter, String> {
    let mut values = response.values("retry-after");
    let text = values.next().ok_or("no Retry-After")?;
    if values.next().is_some() {
        return Err("more than one Retry-After".to_owned());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(RetryAfter::Seconds(text.parse().unwrap_or(u64::MAX)));
    }
    http_date(text).map(RetryAfter::Date).ok_or_else(|| format!("Retry-After: {text}"))
}

impl RetryAfter {
    /// How long after the answer the client is to wait. A date is measured by the response's own `Date`.
    pub(crate) fn wait(self, entry: &Entry<'_>) -> SignedDuration {
        match self {
            RetryAfter::Seconds(seconds) => SignedDuration::from_secs(seconds.try_into().unwrap_or(FAR).min(FAR)),
            RetryAfter::Date(date) => date.duration_since(entry.server_time().unwrap_or(entry.exchange.received_at)),
        }
    }
}

fn retry_after(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let expected = "one Retry-After, in whole seconds or as an HTTP-date";
    for entry in history.entries.iter().filter(|entry| is_limited(entry)) {
        let Some(response) = entry.response() else { continue };
        match read_retry_after(response) {
            Ok(_) => judgement.hold(),
            Err(problem) => judgement.fail(&[entry], expected, format!("429 with {problem}")),
        }
    }
}

fn recovers(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        let with_rate_limit = history.with_rate_limit(key);
        for (at, (limited, window)) in with_rate_limit.iter().enumerate().filter(|(_, (entry, _))| is_limited(entry)) {
            let Some(wait) = limited.response().and_then(|r| read_retry_after(r).ok()).map(|r| r.wait(limited)) else {
                continue;
            };
            let is_first = at == 0 || !is_limited(with_rate_limit[at - 1].0);
            if is_first && wait > LONGEST_WAIT {
                let found = format!("a first 429 that asks for a wait of {} days", wait.as_secs() / 86_400);
                judgement.fail(&[limited], "a Retry-After within the day, the longest window there is", found);
                continue;
            }
            // What is decided is the first request after the last 429 of a series.
            let Some((next, _)) = with_rate_limit.get(at + 1) else { continue };
            let waited = next.exchange.sent_at.duration_since(limited.exchange.received_at);
            if is_limited(next) {
                // The second request over the limit may have brought a ban that its answer does not tell yet. The next answer
                // has to tell of it, and is to be believed.
                let repeated = with_rate_limit[..=at].iter().filter(|(entry, _)| is_limited(entry)).count() >= REPEATED;
                // Where refusals are repeated, an answer came before.
                let may_be_banned = repeated && !waited_as_advised(history, key, with_rate_limit[at - 1], limited);
                if !may_be_banned && waited_as_advised(history, key, (limited, *window), next) {
                    let found = format!("429 again after {} s", waited.as_secs());
                    judgement.fail(&[next, limited], "an answer after Retry-After and the reset have passed", found);
                }
            } else if waited >= wait {
                judgement.hold();
            }
        }
    }
}

/// Whether a request came after a 429 when `Retry-After` and the reset had passed.
fn waited_as_advised(
    history: &History<'_>,
    key: usize,
    (limited, window): (&Entry<'_>, Window),
    next: &Entry<'_>,
) -> bool {
    let Some(Ok(told)) = limited.response().filter(|_| is_limited(limited)).map(read_retry_after) else { return false };
    let waited = next.exchange.sent_at.duration_since(limited.exchange.received_at);
    waited >= told.wait(limited) + CLOCK_SLACK && waited >= window_ends_in(history, key, limited, window) + CLOCK_SLACK
}

/// How long after a 429 its window is over: at the reset, unless the headers tell a day that is not used up, in which
/// case it is the minute that is.
fn window_ends_in(history: &History<'_>, key: usize, limited: &Entry<'_>, window: Window) -> SignedDuration {
    if history.reports_day(key, limited, window) && window.remaining > 0 {
        return MINUTE;
    }
    let now = limited.server_time().unwrap_or(limited.exchange.received_at).as_second();
    SignedDuration::from_secs(window.reset.saturating_sub(now))
}

fn error_body(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in history.entries.iter().filter(|entry| is_limited(entry)) {
        if entry.json.is_none() {
            judgement.hold();
            continue;
        }
        let media_type = entry.response().and_then(Response::media_type);
        let labelled = media_type.as_deref() == Some("application/json");
        let label = (!labelled).then(|| format!("a body labelled {}", media_type.as_deref().unwrap_or("as nothing")));
        let problem = misshapen(entry).or(label).or_else(|| {
            let member = entry.value()?.get("status")?.as_int64()?;
            (member != 429).then(|| format!("status {member} in the body"))
        });
        match problem {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[entry], "an Error, or an empty body", format!("429 with {problem}")),
        }
    }
}

#[cfg(test)]
mod tests;
