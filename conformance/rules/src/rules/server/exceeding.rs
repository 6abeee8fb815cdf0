//! Exceeding the limit: 429 at the right moment, for every operation.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::headers::{is_flat, successive};
use super::refusals::read_retry_after;
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::{Credential, Operation};
use crate::rules::{Judgement, Rule, answered};
use crate::trace::rate_limit::{RateHeaders, Window};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("quota.enforced", enforced),
    Rule::new("quota.not-exceeded", not_exceeded),
    Rule::new("quota.not-early", not_early),
    Rule::new("quota.every-operation", every_operation),
];

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// In a pause longer than this, other traffic on the key would leave no trace in the run's own answers.
const UNSEEN: SignedDuration = SignedDuration::from_secs(1);

/// Clocks are told to the second.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// The successful requests of a key, in the order of sending, by the window that their headers name; those left out that may be of
/// the one before.
fn windows<'d>(history: &'d History<'_>, key: usize) -> Vec<Vec<(&'d Entry<'d>, Window)>> {
    let mut windows: Vec<Vec<(&Entry<'_>, Window)>> = Vec::new();
    let with_rate_limit = history.with_rate_limit(key);
    let is_certain = |(entry, window): &&(&Entry<'_>, Window)| {
        entry.succeeded() && !may_be_of_the_one_before(&with_rate_limit, entry, *window)
    };
    for &(entry, window) in with_rate_limit.iter().filter(is_certain) {
        match windows.iter_mut().find(|admitted| admitted[0].1.is_same(window)) {
            Some(admitted) => admitted.push((entry, window)),
            None => windows.push(vec![(entry, window)]),
        }
    }
    windows
}

/// Whether a request may have been counted in the window before the one that its answer tells: it was under way when that one
/// ended, and headers may tell of the time at which they are written.
fn may_be_of_the_one_before(with_rate_limit: &[(&Entry<'_>, Window)], entry: &Entry<'_>, window: Window) -> bool {
    let ended_meanwhile = |(_, told): &(&Entry<'_>, Window)| {
        let is_before = told.limit == window.limit && told.reset < window.reset && !told.is_same(window);
        is_before && entry.earliest_arrival().is_none_or(|came| told.reset >= came)
    };
    let is_first = !with_rate_limit.iter().any(|(other, told)| told.is_same(window) && other.precedes(entry));
    is_first && with_rate_limit.iter().any(ended_meanwhile)
}

pub(crate) fn is_limited(entry: &Entry<'_>) -> bool {
    entry.status() == Some(429) && entry.key().is_some()
}

fn enforced(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let expected = "429 for the request after the last that the limit admits";
    for key in history.keys() {
        let with_rate_limit = history.with_rate_limit(key);
        let limited = with_rate_limit.iter().filter(|(entry, _)| is_limited(entry)).count();
        (0..limited).for_each(|_| judgement.hold());
        for admitted in windows(history, key) {
            let limit = admitted[0].1.limit;
            if limited == 0 && admitted.len() as u64 > limit {
                let last = admitted[admitted.len() - 1].0;
                judgement.fail(&[last], expected, format!("{} successes in a window of {limit}", admitted.len()));
            }
        }
        still_limited(history, key, &with_rate_limit, judgement);
        for (entry, window) in with_rate_limit {
            let refused = matches!(entry.status(), Some(400..=599)) && !is_limited(entry);
            let owed_success = entry.operation.is_certainly_valid() && entry.operation.name() == "GET /pets";
            if refused && owed_success && window.remaining == 0 {
                judgement.fail(&[entry], expected, format!("{} with nothing remaining", answered(entry)));
            }
        }
    }
}

/// After a 429 the window stays used up until its reset, for every operation: what is asked for next, while nothing remains, gets
/// 429 too.
fn still_limited(
    history: &History<'_>,
    key: usize,
    with_rate_limit: &[(&Entry<'_>, Window)],
    judgement: &mut Judgement,
) {
    for pair in with_rate_limit.windows(2) {
        let [(limited, before), (next, now)] = [pair[0], pair[1]];
        let running = next.server_time().is_some_and(|time| time.as_second() < before.reset - CLOCK_SLACK.as_secs());
        let used_up = before.remaining == 0 && now.remaining == 0 && before.is_same(now) && running;
        // A day's headers say nothing of the minute; and what fails for others may make room again.
        let certain = limited.precedes(next)
            && next.operation.is_certainly_valid()
            && !history.reports_day(key, limited, before)
            && !has_other_traffic(history, key);
        if is_limited(limited) && next.status().is_some() && !is_limited(next) && used_up && certain {
            let expected = "429 for every operation until the window's reset";
            judgement.fail(&[next, limited], expected, format!("{} after a 429", answered(next)));
        }
    }
}

fn not_exceeded(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        // A log admits another whenever its oldest drops out, and its headers tell whether that was so.
        let is_sliding_log = history.is_sliding_log(key);
        for admitted in windows(history, key) {
            let Window { limit, reset, .. } = admitted[0].1;
            if is_sliding_log {
                judgement.hold();
                continue;
            }
            let counted = admitted.len() + failures_counted(history, key, admitted[0].1);
            let used_up = |(_, window): &&(&Entry<'_>, Window)| window.remaining == 0;
            if admitted.len() as u64 > limit {
                let (entry, _) = admitted[limit as usize];
                let found = format!("{} successes before the reset at {reset}", admitted.len());
                judgement.fail(&[entry], format!("at most {limit} in one window"), found);
            } else if counted as u64 > limit {
                let (entry, _) = admitted[admitted.len() - 1];
                let found = format!("{counted} before the reset at {reset}, failures included, which count here");
                judgement.fail(&[entry], format!("at most {limit} in one window"), found);
            } else if admitted.iter().filter(used_up).count() > 1 {
                // Whether Remaining is told before or after a request is counted, only one can be the last.
                let spent: Vec<&Entry<'_>> = admitted.iter().filter(used_up).map(|(entry, _)| *entry).collect();
                let found = format!("{} successes with nothing remaining before the reset at {reset}", spent.len());
                judgement.fail(&[spent[1], spent[0]], "one last success in a window", found);
            } else {
                judgement.hold();
            }
        }
        minute_not_exceeded(history, key, judgement);
    }
}

/// The failed requests of a window that certainly were counted: those with a status that always made Remaining fall, several
/// times. What a failure itself is told does not say so, since it may be taken back afterwards; what the next success is told does.
fn failures_counted(history: &History<'_>, key: usize, window: Window) -> usize {
    const SEVERAL: usize = 3;
    if has_other_traffic(history, key) {
        return 0;
    }
    let with_rate_limit = history.with_rate_limit(key);
    let failed = |entry: &Entry<'_>| matches!(entry.status(), Some(400..=499)) && !is_limited(entry);
    // By status: how often it was seen between two successes, and whether Remaining then always fell for all in between.
    let mut seen: BTreeMap<Option<u16>, (usize, bool)> = BTreeMap::new();
    for run in runs_of_failures(&with_rate_limit, failed) {
        let [(_, earlier), .., (_, later)] = run else { continue };
        let fell = earlier.remaining.saturating_sub(later.remaining) as usize + 1 >= run.len();
        for (entry, _) in &run[1..run.len() - 1] {
            let (times, always) = seen.entry(entry.status()).or_insert((0, true));
            *times += 1;
            *always &= fell;
        }
    }
    let counts =
        |entry: &Entry<'_>| seen.get(&entry.status()).is_some_and(|(times, always)| *always && *times >= SEVERAL);
    let is_certain = |entry: &Entry<'_>, told: Window| {
        told.is_same(window) && counts(entry) && !may_be_of_the_one_before(&with_rate_limit, entry, told)
    };
    with_rate_limit.iter().filter(|(entry, told)| failed(entry) && is_certain(entry, *told)).count()
}

/// Successes that follow each other in one window with nothing but failures between them, if anything: each sent when the one before was
/// answered, and nothing else sent with the key.
fn runs_of_failures<'m, 'd>(
    with_rate_limit: &'m [(&'d Entry<'d>, Window)],
    failed: impl Fn(&Entry<'_>) -> bool,
) -> Vec<&'m [(&'d Entry<'d>, Window)]> {
    let mut runs = Vec::new();
    let mut begin: Option<usize> = None;
    for (at, (entry, window)) in with_rate_limit.iter().enumerate() {
        let follows = at > 0 && {
            let (before, earlier) = with_rate_limit[at - 1];
            before.precedes(entry) && before.exchange.number + 1 == entry.exchange.number && earlier.is_same(*window)
        };
        if !follows {
            begin = None;
        }
        if entry.succeeded() {
            runs.extend(begin.map(|begin| &with_rate_limit[begin..=at]));
            begin = Some(at);
        } else if !failed(entry) {
            begin = None;
        }
    }
    runs
}

/// Where the headers tell the day, the minute shows only in the traffic: an interval shorter than a minute touches two
/// windows at the most, wherever they begin.
fn minute_not_exceeded(history: &History<'_>, key: usize, judgement: &mut Judgement) {
    let Some(plan_limits) = history.plan_limits(key) else { return };
    let most = 2 * plan_limits.per_minute as usize;
    let admitted: Vec<&Entry<'_>> =
        history.with_rate_limit(key).into_iter().map(|(entry, _)| entry).filter(|entry| entry.succeeded()).collect();
    for group in admitted.windows(most + 1) {
        let (first, last) = (group[0], group[most]);
        if last.exchange.received_at.duration_since(first.exchange.sent_at) < MINUTE {
            let found = format!("{} successes within a minute", group.len());
            judgement.fail(&[last, first], format!("at most {} in a minute", plan_limits.per_minute), found);
            return;
        }
    }
}

fn not_early(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        let with_rate_limit = history.with_rate_limit(key);
        let shared = has_other_traffic(history, key);
        // Told before counting, the last admitted request shows 1.
        let last = u64::from(!counts_first(history, key));
        for &(limited, now) in with_rate_limit.iter().filter(|(entry, _)| is_limited(entry)) {
            let Some(before_limited) = with_rate_limit.iter().rev().find(|(entry, _)| entry.precedes(limited)) else {
                continue;
            };
            let (before, earlier) = before_limited;
            // After a first 429 a ban may follow, whatever remains. After a pause others may have used it up.
            let pause = limited.exchange.sent_at.duration_since(before.exchange.received_at);
            if is_limited(before) || pause > UNSEEN || waits_for_more(limited, now) {
                continue;
            }
            // Requests that were under way at the same time may have used some of what was promised.
            let meanwhile = with_rate_limit
                .iter()
                .filter(|(entry, _)| !entry.precedes(limited) && !limited.precedes(entry))
                .count();
            // So may those since the last answer that told this window, whose own answers tell nothing or of another one: to no
            // operation, or with a debatable credential; and those without a key, where they are told of the same window, because
            // callers are told apart by their address.
            let last_told =
                with_rate_limit.iter().rev().find(|(entry, told)| told.is_same(now) && entry.precedes(limited));
            let since =
                last_told.unwrap_or(before_limited).0.exchange.number..limited.exchange.number.saturating_sub(1);
            let unmetered = history.entries.get(since).unwrap_or_default().iter().filter(|entry| {
                let told = entry.rate.as_ref().and_then(RateHeaders::window);
                entry.credential == Credential::Ambiguous
                    || entry.credential.is_invalid() && told.is_some_and(|window| window.is_same(now))
                    || entry.key() == Some(key) && told.is_none_or(|window| !window.is_same(now))
                    || entry.key() == Some(key) && entry.operation == Operation::Elsewhere
            });
            let used = (meanwhile + unmetered.count()) as u64 - 1;
            let promised = least_before(&with_rate_limit, limited, now) > last + used;
            if promised && !shared && !minute_is_exhausted(history, key, limited, now) {
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

/// Whether a 429 asks for a wait that outlasts the window of its headers: then it is the day that is used up, by whomever, while the
/// headers tell the minute.
fn waits_for_more(limited: &Entry<'_>, window: Window) -> bool {
    let now = limited.server_time().unwrap_or(limited.exchange.received_at).as_second();
    let left = SignedDuration::from_secs(window.reset.saturating_sub(now));
    let told = limited.response().and_then(|response| read_retry_after(response).ok());
    told.is_some_and(|told| told.wait(limited) > left + MINUTE)
}

/// The least that answers of the same window promised before a request was sent.
fn least_before(with_rate_limit: &[(&Entry<'_>, Window)], limited: &Entry<'_>, now: Window) -> u64 {
    let before = with_rate_limit
        .iter()
        .filter(|(entry, window)| entry.precedes(limited) && !is_limited(entry) && window.is_same(now));
    before.map(|(_, window)| window.remaining).min().unwrap_or(0)
}

/// Whether Remaining is certain to be told after the request was counted: the first answer of a new window shows one less than
/// the limit, and none ever shows the limit itself.
fn counts_first(history: &History<'_>, key: usize) -> bool {
    let with_rate_limit = history.with_rate_limit(key);
    let shows_limit = with_rate_limit.iter().any(|(_, window)| window.remaining == window.limit);
    let first_of_window = with_rate_limit.windows(2).any(|pair| {
        let [(_, earlier), (entry, later)] = [pair[0], pair[1]];
        earlier.limit == later.limit
            && later.reset > earlier.reset + CLOCK_SLACK.as_secs()
            && entry.succeeded()
            && later.remaining + 1 == later.limit
    });
    first_of_window && !shows_limit
}

/// Whether Remaining ever fell by more than this run's own requests explain, at whatever each of them costs.
pub(crate) fn has_other_traffic(history: &History<'_>, key: usize) -> bool {
    let with_rate_limit = history.with_rate_limit(key);
    let cost = cost_of_one(history, &with_rate_limit);
    with_rate_limit.windows(2).any(|pair| {
        let [(before, earlier), (after, later)] = [pair[0], pair[1]];
        // A refusal may say that nothing remains whatever there was.
        if !before.precedes(after) || earlier.limit != later.limit || is_limited(after) {
            return false;
        }
        let fell = if earlier.is_same(later) {
            earlier.remaining.saturating_sub(later.remaining)
        } else if later.reset > earlier.reset {
            // In a window that is new since the answer before, nothing was used up before this run's own requests.
            later.limit.saturating_sub(later.remaining)
        } else {
            return false;
        };
        fell > cost * sent_between(history, before, after)
    })
}

/// What a successful request uses up: more than one only where that is so each time, many times.
fn cost_of_one(history: &History<'_>, with_rate_limit: &[(&Entry<'_>, Window)]) -> u64 {
    const MANY: usize = 10;
    let alone = with_rate_limit.windows(2).filter(|pair| {
        let [(before, earlier), (after, later)] = [pair[0], pair[1]];
        let single = before.precedes(after) && sent_between(history, before, after) == 1;
        single && earlier.is_same(later) && before.succeeded() && after.succeeded()
    });
    let falls: Vec<u64> = alone.map(|pair| pair[0].1.remaining.saturating_sub(pair[1].1.remaining)).collect();
    match falls.first() {
        Some(&fall) if falls.len() >= MANY && falls.iter().all(|other| *other == fall) => fall.max(1),
        _ => 1,
    }
}

/// How many of this run's requests, with whatever credential, may have been counted between two answers, the one to the second
/// request among them.
pub(crate) fn sent_between(history: &History<'_>, before: &Entry<'_>, after: &Entry<'_>) -> u64 {
    let at = |entry: &Entry<'_>| entry.exchange.number.saturating_sub(1);
    let entries = |range| history.entries.get::<std::ops::Range<usize>>(range).unwrap_or_default().iter();
    let earlier = entries(0..at(before)).rev().take_while(|other| !other.precedes(before)).count();
    let later = entries(at(after) + 1..history.entries.len()).take_while(|other| !after.precedes(other)).count();
    (earlier + (at(after) - at(before)) + later) as u64
}

/// Whether the headers tell the day, and this run alone may have used up the minute behind it.
pub(crate) fn minute_is_exhausted(history: &History<'_>, key: usize, limited: &Entry<'_>, window: Window) -> bool {
    if !history.reports_day(key, limited, window) {
        return false;
    }
    // Of a minute whose figure is unknown nothing can be said.
    let Some(plan_limits) = history.plan_limits(key) else { return true };
    let counts = |entry: &Entry<'_>| {
        // Callers may be told apart by their address.
        let told_alike = || entry.rate.as_ref().and_then(RateHeaders::window).is_some_and(|told| told.is_same(window));
        entry.key() == Some(key)
            || entry.credential == Credential::Ambiguous
            || entry.credential.is_invalid() && told_alike()
    };
    let recent = history.entries.iter().filter(|entry| {
        counts(entry)
            && entry.exchange.number < limited.exchange.number
            && limited.exchange.received_at.duration_since(entry.exchange.sent_at) <= MINUTE + CLOCK_SLACK
    });
    recent.count() as u64 >= plan_limits.per_minute
}

fn every_operation(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        let pairs = successive(history, key);
        // Where nothing ever falls, `headers.remaining-falls` says so once; in a log, another may just have dropped out.
        let falls = pairs.iter().any(|pair| !is_flat(pair)) && !history.is_sliding_log(key);
        for pair in &pairs {
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

#[cfg(test)]
mod tests;
