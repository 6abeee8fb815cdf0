//! Exceeding the limit: 429 at the right moment, with a `Retry-After` that can be read and that is true.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::docket::{Case, Docket};
use super::errors::misshapen;
use super::headers::{is_flat, successive};
use super::meaning::{Access, Operation};
use super::rate::{RateHeaders, Window};
use super::versioning::http_date;
use super::{Judgement, Rule, answered};
use crate::wire::exchange::Response;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "quota.enforced", judge: enforced },
    Rule { id: "quota.not-exceeded", judge: not_exceeded },
    Rule { id: "quota.not-early", judge: not_early },
    Rule { id: "quota.every-operation", judge: every_operation },
    Rule { id: "quota.retry-after", judge: retry_after },
    Rule { id: "quota.recovers", judge: recovers },
    Rule { id: "quota.error-body", judge: error_body },
];

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// The longest that the first 429 of a window can ask for: the rest of a day, and a little.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(86_400 + 60);

/// Waits longer than this many seconds are all the same, and can be added to without overflow.
const FAR: i64 = 1 << 40;

/// Clocks are told to the second.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// The successful requests of a key, by the window that their headers name: limit and reset.
fn windows<'d>(docket: &'d Docket<'_>, key: usize) -> BTreeMap<(u64, i64), Vec<(&'d Case<'d>, Window)>> {
    let mut windows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (case, window) in docket.metered(key).into_iter().filter(|(case, _)| case.succeeded()) {
        windows.entry((window.limit, window.reset)).or_default().push((case, window));
    }
    windows
}

fn is_limited(case: &Case<'_>) -> bool {
    case.status() == Some(429) && case.key().is_some()
}

fn enforced(docket: &Docket<'_>, judgement: &mut Judgement) {
    let expected = "429 for the request after the last that the limit admits";
    for key in docket.keys() {
        let metered = docket.metered(key);
        let limited = metered.iter().filter(|(case, _)| is_limited(case)).count();
        (0..limited).for_each(|_| judgement.hold());
        for ((limit, _), admitted) in windows(docket, key) {
            if limited == 0 && admitted.len() as u64 > limit {
                let last = admitted[admitted.len() - 1].0;
                judgement.fail(&[last], expected, format!("{} successes in a window of {limit}", admitted.len()));
            }
        }
        for (case, window) in metered {
            let refused = matches!(case.status(), Some(400..=599)) && !is_limited(case);
            let owed_success = case.operation.is_sound() && case.operation.name() == "GET /pets";
            if refused && owed_success && window.remaining == 0 {
                judgement.fail(&[case], expected, format!("{} with nothing remaining", answered(case)));
            }
        }
    }
}

fn not_exceeded(docket: &Docket<'_>, judgement: &mut Judgement) {
    for key in docket.keys() {
        for ((limit, reset), admitted) in windows(docket, key) {
            let used_up = |(_, window): &&(&Case<'_>, Window)| window.remaining == 0;
            if admitted.len() as u64 > limit {
                let (case, _) = admitted[limit as usize];
                let found = format!("{} successes before the reset at {reset}", admitted.len());
                judgement.fail(&[case], format!("at most {limit} in one window"), found);
            } else if admitted.iter().filter(used_up).count() > 1 {
                // Whether Remaining is told before or after a request is counted, only one can be the last.
                let spent: Vec<&Case<'_>> = admitted.iter().filter(used_up).map(|(case, _)| *case).collect();
                let found = format!("{} successes with nothing remaining before the reset at {reset}", spent.len());
                judgement.fail(&[spent[1], spent[0]], "one last success in a window", found);
            } else {
                judgement.hold();
            }
        }
        minute_not_exceeded(docket, key, judgement);
    }
}

/// Where the headers tell the day, the minute shows only in the traffic: an interval shorter than a minute touches two
/// windows at the most, wherever they begin.
fn minute_not_exceeded(docket: &Docket<'_>, key: usize, judgement: &mut Judgement) {
    let Some(figures) = docket.figures(key) else { return };
    let most = 2 * figures.per_minute as usize;
    let admitted: Vec<&Case<'_>> =
        docket.metered(key).into_iter().map(|(case, _)| case).filter(|case| case.succeeded()).collect();
    for group in admitted.windows(most + 1) {
        let (first, last) = (group[0], group[most]);
        if last.exchange.received_at.duration_since(first.exchange.sent_at) < MINUTE {
            let found = format!("{} successes within a minute", group.len());
            judgement.fail(&[last, first], format!("at most {} in a minute", figures.per_minute), found);
            return;
        }
    }
}

fn not_early(docket: &Docket<'_>, judgement: &mut Judgement) {
    for key in docket.keys() {
        let metered = docket.metered(key);
        let shared = has_other_traffic(docket, key);
        // Told before counting, the last admitted request shows 1.
        let last = u64::from(!counts_first(docket, key));
        for &(limited, now) in metered.iter().filter(|(case, _)| is_limited(case)) {
            let Some((before, earlier)) = metered.iter().rev().find(|(case, _)| case.precedes(limited)) else {
                continue;
            };
            // After a first 429 a ban may follow, whatever remains.
            if is_limited(before) {
                continue;
            }
            // Requests that were under way at the same time may have used some of what was promised.
            let meanwhile =
                metered.iter().filter(|(case, _)| !case.precedes(limited) && !limited.precedes(case)).count();
            // So may those since then whose answers tell nothing: to no operation, or with a debatable credential.
            let since = before.exchange.number..limited.exchange.number.saturating_sub(1);
            let unmetered = docket.cases.get(since).unwrap_or_default().iter().filter(|case| {
                case.access == Access::Debatable
                    || case.key() == Some(key) && case.rate.as_ref().and_then(RateHeaders::window).is_none()
                    || case.key() == Some(key) && case.operation == Operation::Elsewhere
            });
            let used = (meanwhile + unmetered.count()) as u64 - 1;
            let promised = least_before(&metered, limited, now) > last + used;
            if promised && !shared && !minute_is_used_up(docket, key, limited, now) {
                let found = format!(
                    "429, although {} remained until {} and nobody else used them",
                    earlier.remaining, now.reset
                );
                judgement.fail(&[limited, before], "no 429 while requests remain", found);
            } else {
                judgement.hold();
            }
        }
    }
}

/// The least that answers of the same window promised before a request was sent.
fn least_before(metered: &[(&Case<'_>, Window)], limited: &Case<'_>, now: Window) -> u64 {
    let before = metered.iter().filter(|(case, window)| {
        case.precedes(limited) && !is_limited(case) && window.limit == now.limit && window.reset == now.reset
    });
    before.map(|(_, window)| window.remaining).min().unwrap_or(0)
}

/// Whether Remaining is certain to be told after the request was counted: the first answer of a new window shows one less than
/// the limit, and none ever shows the limit itself.
fn counts_first(docket: &Docket<'_>, key: usize) -> bool {
    let metered = docket.metered(key);
    let shows_limit = metered.iter().any(|(_, window)| window.remaining == window.limit);
    let first_of_window = metered.windows(2).any(|pair| {
        let [(_, earlier), (case, later)] = [pair[0], pair[1]];
        earlier.limit == later.limit
            && later.reset > earlier.reset + CLOCK_SLACK.as_secs()
            && case.succeeded()
            && later.remaining + 1 == later.limit
    });
    first_of_window && !shows_limit
}

/// Whether Remaining ever fell by more than this run's own requests explain, and not always by the same amount (which
/// would be a server that counts double).
fn has_other_traffic(docket: &Docket<'_>, key: usize) -> bool {
    let metered = docket.metered(key);
    // An answer among others that were under way at the same time tells of them too.
    let alone = |at: usize| {
        (at == 0 || metered[at - 1].0.precedes(metered[at].0))
            && metered.get(at + 1).is_none_or(|(next, _)| metered[at].0.precedes(next))
    };
    let mut falls: Vec<u64> = Vec::new();
    for at in 1..metered.len() {
        let [(before, earlier), (after, later)] = [metered[at - 1], metered[at]];
        let same_window = earlier.limit == later.limit && earlier.reset == later.reset;
        // What was sent in between with the key, to no operation or in a debatable form, may have used some up.
        let between = before.exchange.number..after.exchange.number.saturating_sub(1);
        let certain = alone(at - 1) && alone(at) && docket.cases[between].iter().all(|case| case.access.is_lacking());
        if same_window && certain && before.succeeded() && after.succeeded() {
            falls.push(earlier.remaining.saturating_sub(later.remaining));
        }
    }
    let most = falls.iter().copied().max().unwrap_or(0);
    let steady = falls.len() >= 10 && falls.iter().all(|fall| *fall == most);
    most > 1 && !steady
}

/// Whether the headers tell the day, and this run alone may have used up the minute behind it.
fn minute_is_used_up(docket: &Docket<'_>, key: usize, limited: &Case<'_>, window: Window) -> bool {
    if !docket.tells_day(key, limited, window) {
        return false;
    }
    // Of a minute whose figure is unknown nothing can be said.
    let Some(figures) = docket.figures(key) else { return true };
    let recent = docket.cases.iter().filter(|case| {
        (case.key() == Some(key) || case.access == Access::Debatable)
            && case.exchange.number < limited.exchange.number
            && limited.exchange.received_at.duration_since(case.exchange.sent_at) <= MINUTE + CLOCK_SLACK
    });
    recent.count() as u64 >= figures.per_minute
}

fn every_operation(docket: &Docket<'_>, judgement: &mut Judgement) {
    for key in docket.keys() {
        let pairs = successive(docket, key);
        let falls = pairs.iter().any(|pair| !is_flat(pair));
        for pair in &pairs {
            // Where nothing ever falls, `headers.remaining-falls` says so once.
            if is_flat(pair) && falls {
                let [(before, earlier), (after, later)] = pair;
                judgement.fail(
                    &[after, before],
                    "every successful request uses up one",
                    format!(
                        "Remaining went from {} on {} to {} on {}",
                        earlier.remaining,
                        before.operation.name(),
                        later.remaining,
                        after.operation.name()
                    ),
                );
            } else {
                judgement.hold();
            }
        }
    }
}

/// A `Retry-After` that RFC 9110 knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RetryAfter {
    /// Whole seconds.
    Seconds(u64),
    /// A date.
    Date(Timestamp),
}

/// Reads `Retry-After`; what is wrong with it, if it cannot be read.
pub(super) fn read_retry_after(response: &Response) -> Result<RetryAfter, String> {
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
    fn wait(self, case: &Case<'_>) -> SignedDuration {
        match self {
            RetryAfter::Seconds(seconds) => SignedDuration::from_secs(seconds.try_into().unwrap_or(FAR).min(FAR)),
            RetryAfter::Date(date) => date.duration_since(case.server_time().unwrap_or(case.exchange.received_at)),
        }
    }
}

fn retry_after(docket: &Docket<'_>, judgement: &mut Judgement) {
    let expected = "one Retry-After, in whole seconds or as an HTTP-date";
    for case in docket.cases.iter().filter(|case| is_limited(case)) {
        let Some(response) = case.response() else { continue };
        match read_retry_after(response) {
            Ok(_) => judgement.hold(),
            Err(problem) => judgement.fail(&[case], expected, format!("429 with {problem}")),
        }
    }
}

fn recovers(docket: &Docket<'_>, judgement: &mut Judgement) {
    for key in docket.keys() {
        let metered = docket.metered(key);
        for (at, (limited, window)) in metered.iter().enumerate().filter(|(_, (case, _))| is_limited(case)) {
            let Some(wait) = limited.response().and_then(|r| read_retry_after(r).ok()).map(|r| r.wait(limited)) else {
                continue;
            };
            let is_first = at == 0 || !is_limited(metered[at - 1].0);
            if is_first && wait > LONGEST_WAIT {
                let found = format!("a first 429 that asks for a wait of {} days", wait.as_secs() / 86_400);
                judgement.fail(&[limited], "a Retry-After within the day, the longest window there is", found);
                continue;
            }
            // What is decided is the first request after the last 429 of a series.
            let Some((next, _)) = metered.get(at + 1) else { continue };
            let waited = next.exchange.sent_at.duration_since(limited.exchange.received_at);
            if is_limited(next) {
                if waited >= wait + CLOCK_SLACK && waited >= window_ends_in(docket, key, limited, *window) + CLOCK_SLACK
                {
                    let found = format!("429 again after {} s", waited.as_secs());
                    judgement.fail(&[next, limited], "an answer after Retry-After and the reset have passed", found);
                }
            } else if waited >= wait {
                judgement.hold();
            }
        }
    }
}

/// How long after a 429 its window is over: at the reset, unless the headers tell a day that is not used up, in which
/// case it is the minute that is.
fn window_ends_in(docket: &Docket<'_>, key: usize, limited: &Case<'_>, window: Window) -> SignedDuration {
    if docket.tells_day(key, limited, window) && window.remaining > 0 {
        return MINUTE;
    }
    let now = limited.server_time().unwrap_or(limited.exchange.received_at).as_second();
    SignedDuration::from_secs(window.reset.saturating_sub(now))
}

fn error_body(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in docket.cases.iter().filter(|case| is_limited(case)) {
        if case.json.is_none() {
            judgement.hold();
            continue;
        }
        let media_type = case.response().and_then(Response::media_type);
        let labelled = media_type.as_deref() == Some("application/json");
        let label = (!labelled).then(|| format!("a body labelled {}", media_type.as_deref().unwrap_or("as nothing")));
        let problem = misshapen(case).or(label).or_else(|| {
            let member = case.value()?.get("status")?.as_int64()?;
            (member != 429).then(|| format!("status {member} in the body"))
        });
        match problem {
            None => judgement.hold(),
            Some(problem) => judgement.fail(&[case], "an Error, or an empty body", format!("429 with {problem}")),
        }
    }
}
