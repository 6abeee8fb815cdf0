//! Rate limit headers: on every answer of an operation, and honest.
//!
//! Two answers are compared only when the first was complete before the second request was sent, so that nothing rests on
//! the order of concurrent requests. Refused requests may count or not, and other traffic may use the same key: Remaining
//! may therefore fall faster than the judge's own requests explain, never slower.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::plan::PlanLimits;
use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::limiter::bans::possible_bans;
use crate::request::{Credential, Operation};
use crate::rules::{Judgement, Rule, answered};
use crate::trace::rate_limit::{Field, RateHeaders, Window};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("headers.limit", |d, j| present(d, j, "X-RateLimit-Limit", |r| &r.limit)),
    Rule::new("headers.remaining", |d, j| present(d, j, "X-RateLimit-Remaining", |r| &r.remaining)),
    Rule::new("headers.reset", |d, j| present(d, j, "X-RateLimit-Reset", |r| &r.reset)),
    Rule::new("headers.limit-figure", limit_figure),
    Rule::new("headers.remaining-range", remaining_range),
    Rule::new("headers.remaining-falls", remaining_falls),
    Rule::new("headers.remaining-never-rises", remaining_never_rises),
    Rule::new("headers.reset-time", reset_time),
];

/// Clocks are told to the second, and a `Date` may be stamped a moment before or after the headers.
const CLOCK_SLACK: i64 = 2;

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// Answers of operations, whatever their status.
fn answers<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, &'d RateHeaders)> {
    history
        .entries
        .iter()
        .filter(|entry| entry.operation != Operation::Elsewhere)
        .filter_map(|entry| Some((entry, entry.rate.as_ref()?)))
}

fn present(
    &Facts { history, .. }: &Facts<'_>,
    judgement: &mut Judgement,
    name: &str,
    field: fn(&RateHeaders) -> &Field,
) {
    for (entry, rate) in answers(history) {
        let problem = match field(rate) {
            Field::Integer(_) => None,
            Field::Missing => Some("without it".to_owned()),
            Field::Repeated => Some("with it more than once".to_owned()),
            Field::Malformed(text) => Some(format!("with {name}: {text}")),
        };
        judgement.require(entry, problem.is_none(), format!("{name}, once, an integer"), || {
            format!("{} {}", answered(entry), problem.unwrap_or_default())
        });
    }
}

fn limit_figure(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // A ban may go with a limit of its own.
    let of_bans = possible_bans(history);
    for key in history.keys() {
        let told = history.context.plan_limits.filter(|_| key == 0);
        let mut plan_limits = BTreeSet::new();
        let with_rate_limit: Vec<_> = history
            .with_rate_limit(key)
            .into_iter()
            .filter(|(entry, _)| !of_bans.contains(&entry.exchange.number))
            .collect();
        one_figure_for_a_minute(&with_rate_limit, judgement);
        for (entry, window) in history.with_rate_limit(key) {
            if !of_bans.contains(&entry.exchange.number) {
                judgement.require(entry, window.limit > 0, "a Limit above 0 for a valid key", || {
                    format!("{} with a Limit of 0", answered(entry))
                });
            }
            plan_limits.insert(window.limit);
            match told {
                Some(PlanLimits { per_minute, per_day }) => {
                    let held = [per_minute, per_day].contains(&window.limit);
                    judgement.require(entry, held, format!("a Limit of {per_minute} or {per_day}"), || {
                        format!("{} with a Limit of {}", answered(entry), window.limit)
                    });
                }
                None => {
                    judgement.require(entry, plan_limits.len() <= 2, "a figure per minute or a figure per day", || {
                        let plan_limits: Vec<String> = plan_limits.iter().map(u64::to_string).collect();
                        format!("a Limit that takes the values {}", plan_limits.join(", "))
                    });
                }
            }
        }
    }
}

/// A limit that was told with two ends of windows, each within the minute, is that of a minute: no day ends twice in a run. There is
/// one such limit.
fn one_figure_for_a_minute(with_rate_limit: &[(&Entry<'_>, Window)], judgement: &mut Judgement) {
    let mut ends: BTreeMap<u64, i64> = BTreeMap::new();
    let mut of_minutes: BTreeMap<u64, &Entry<'_>> = BTreeMap::new();
    for &(entry, window) in with_rate_limit {
        let near = entry.server_time().is_some_and(|time| window.reset - time.as_second() <= MINUTE + CLOCK_SLACK);
        let end = near.then(|| *ends.entry(window.limit).or_insert(window.reset));
        if end.is_some_and(|end| (window.reset - end).abs() > CLOCK_SLACK) {
            of_minutes.entry(window.limit).or_insert(entry);
        }
    }
    let mut of_minutes = of_minutes.into_iter();
    if let (Some((one, first)), Some((other, second))) = (of_minutes.next(), of_minutes.next()) {
        let found = format!("a limit of {one} and one of {other}, each with windows that end within a minute");
        judgement.fail(&[second, first], "one limit for the minute", found);
    }
}

fn remaining_range(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, rate) in answers(history) {
        let (Some(limit), Some(remaining)) = (rate.limit.integer(), rate.remaining.integer()) else { continue };
        judgement.require(entry, (0..=limit).contains(&remaining), "a Remaining from 0 to Limit", || {
            format!("{} with Remaining {remaining} of {limit}", answered(entry))
        });
    }
}

/// Successful answers of one key, each with the next one of the same window.
pub(crate) fn successive<'d>(history: &'d History<'_>, key: usize) -> Vec<[(&'d Entry<'d>, Window); 2]> {
    let admitted: Vec<(&Entry<'_>, Window)> =
        history.with_rate_limit(key).into_iter().filter(|(entry, _)| entry.succeeded()).collect();
    let is_certain = |[(before, earlier), (after, later)]: &[(&Entry<'_>, Window); 2]| {
        let is_over = after.server_time().is_some_and(|time| time.as_second() >= earlier.reset);
        earlier.is_same(*later) && !is_over && before.precedes(after) && !history.is_beside_a_failure(before)
    };
    admitted.windows(2).map(|pair| [pair[0], pair[1]]).filter(is_certain).collect()
}

/// Whether a pair shows that the second or the first of two successful requests used nothing up.
pub(crate) fn is_flat(pair: &[(&Entry<'_>, Window); 2]) -> bool {
    // At nought there is nothing left to fall; that such a request was admitted is another rule's concern.
    pair[1].1.remaining >= pair[0].1.remaining && pair[1].1.remaining > 0
}

fn remaining_falls(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        let pairs = successive(history, key);
        let Some(first) = pairs.first() else { continue };
        if pairs.iter().all(is_flat) {
            let found =
                format!("{} successful requests in one window, and still {}", pairs.len() + 1, first[0].1.remaining);
            judgement.fail(&[first[1].0, first[0].0], "a Remaining that falls with every successful request", found);
        } else {
            // That single requests use nothing up is told by `quota.every-operation`, which names the operation.
            pairs.iter().for_each(|_| judgement.hold());
        }
    }
}

fn remaining_never_rises(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for key in history.keys() {
        let with_rate_limit = history.with_rate_limit(key);
        let is_sliding_log = history.is_sliding_log(key);
        for pair in with_rate_limit.windows(2) {
            let [(before, earlier), (after, later)] = [pair[0], pair[1]];
            if earlier.limit != later.limit || !before.precedes(after) {
                continue;
            }
            let over = match after.server_time() {
                Some(time) => time.as_second() >= earlier.reset - CLOCK_SLACK,
                // Where the end of a log's oldest is rounded up, it may have come before it is told anew.
                None => later.reset != earlier.reset || is_sliding_log,
            };
            // What a failure used up may be given back after it was told, and a refusal uses nothing up.
            let given_back = u64::from(!before.succeeded() && after.status() == Some(429));
            if later.remaining <= earlier.remaining + given_back || over {
                judgement.hold();
            } else if !history.is_beside_a_failure(before) {
                judgement.fail(
                    &[after, before],
                    format!("no more than {} remaining until the reset at {}", earlier.remaining, earlier.reset),
                    format!("{} remaining before that time", later.remaining),
                );
            }
        }
    }
}

fn reset_time(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let of_bans = possible_bans(history);
    let tells_ban =
        |entry: &Entry<'_>| entry.credential == Credential::Banned || of_bans.contains(&entry.exchange.number);
    for (entry, rate) in answers(history).filter(|(entry, _)| !tells_ban(entry)) {
        let Some(reset) = rate.reset.integer() else { continue };
        let length = match (entry.key().and_then(|key| history.plan_limits(key)), rate.limit.integer()) {
            (Some(plan_limits), Some(limit))
                if limit == plan_limits.per_minute as i64 && plan_limits.per_day != plan_limits.per_minute =>
            {
                MINUTE
            }
            _ => DAY,
        };
        let (now, earliest, latest) = match entry.server_time() {
            Some(date) => {
                // The headers may have been written when the request came in, the Date when the answer went out.
                let exchange = &entry.exchange;
                let elapsed = exchange.received_at.duration_since(exchange.sent_at).as_secs() + 1;
                let now = date.as_second();
                (now, now - CLOCK_SLACK - elapsed, now + length + CLOCK_SLACK)
            }
            // Without a Date the server's clock is unknown; a day off is still no other unit.
            None => {
                let now = entry.exchange.received_at.as_second();
                (now, now - DAY, now + 2 * DAY)
            }
        };
        let held = (earliest..=latest).contains(&reset);
        judgement.require(entry, held, "the Unix time in seconds at which the present window ends", || {
            format!("Reset {reset}, {} from the response's Date at {now}", distance(reset.saturating_sub(now)))
        });
    }
    for key in history.keys() {
        let with_rate_limit: Vec<_> = history
            .with_rate_limit(key)
            .into_iter()
            .filter(|(entry, _)| !of_bans.contains(&entry.exchange.number))
            .collect();
        // The oldest request of a log may drop out at any moment.
        if !history.is_sliding_log(key) {
            window_lengths(&with_rate_limit, judgement);
            lies_ahead(&with_rate_limit, judgement);
        }
        for pair in with_rate_limit.windows(2) {
            let [(before, earlier), (after, later)] = [pair[0], pair[1]];
            let Some(time) = after.server_time() else { continue };
            let running = time.as_second() < earlier.reset - CLOCK_SLACK;
            // A refusal may tell of the window that is used up where the other answers tell of the longer one.
            let refused = before.status() == Some(429) || after.status() == Some(429);
            let moved =
                later.reset > earlier.reset + CLOCK_SLACK || !refused && later.reset < earlier.reset - CLOCK_SLACK;
            if earlier.limit == later.limit && before.precedes(after) && running && moved {
                let found = format!("the window still runs, and its reset has moved to {}", later.reset);
                judgement.fail(&[after, before], format!("the reset at {} that was announced", earlier.reset), found);
            }
        }
    }
}

/// Of two answers that lie some seconds apart, but less than a window, one at the most comes in the last second of its window.
fn lies_ahead(with_rate_limit: &[(&Entry<'_>, Window)], judgement: &mut Judgement) {
    const APART: std::ops::Range<i64> = 2 * CLOCK_SLACK..MINUTE - 2 * CLOCK_SLACK;
    let mut ends: BTreeMap<u64, (&Entry<'_>, i64)> = BTreeMap::new();
    for &(entry, window) in with_rate_limit {
        // The Date of a slow answer tells when it went out; the headers may be from when the request came in.
        let Some(now) = entry.earliest_arrival().filter(|now| window.reset - now <= 1) else { continue };
        let (first, then) = *ends.entry(window.limit).or_insert((entry, now));
        if APART.contains(&(now - then)) && first.precedes(entry) {
            let found = format!("two answers {} s apart, each at the end of its window", now - then);
            judgement.fail(&[entry, first], "a Reset that lies ahead", found);
            return;
        }
        if now - then >= APART.end {
            ends.insert(window.limit, (entry, now));
        }
    }
}

/// No window is shorter than a minute, so two that follow each other end a minute apart at the least, wherever they begin.
fn window_lengths(with_rate_limit: &[(&Entry<'_>, Window)], judgement: &mut Judgement) {
    for [(first, window), (entry, next)] in
        short_windows(with_rate_limit).filter(|[first, next]| first.0.precedes(next.0))
    {
        let found = format!(
            "windows that end {} s apart, at {} and at {}",
            next.reset - window.reset,
            window.reset,
            next.reset
        );
        judgement.fail(&[entry, first], "a window of a minute at the least", found);
    }
}

/// Answers that tell of two windows of one limit whose ends lie apart, but by less than a minute: the first of its minute, and another.
pub(crate) fn short_windows<'m, 'd>(
    with_rate_limit: &'m [(&'d Entry<'d>, Window)],
) -> impl Iterator<Item = [(&'d Entry<'d>, Window); 2]> + 'm {
    let mut firsts: BTreeMap<u64, (&Entry<'_>, Window)> = BTreeMap::new();
    with_rate_limit.iter().filter_map(move |&(entry, window)| {
        let first = firsts.entry(window.limit).or_insert((entry, window));
        let apart = window.reset.saturating_sub(first.1.reset);
        if apart >= MINUTE - CLOCK_SLACK {
            *first = (entry, window);
            return None;
        }
        (apart > CLOCK_SLACK).then_some([*first, (entry, window)])
    })
}

fn distance(seconds: i64) -> String {
    let size = seconds.unsigned_abs();
    let text = match size {
        0..120 => format!("{size} s"),
        120..7_200 => format!("{} min", size / 60),
        7_200..172_800 => format!("{} h", size / 3_600),
        _ => format!("{} days", size / 86_400),
    };
    if seconds < 0 { format!("-{text}") } else { format!("+{text}") }
}

#[cfg(test)]
mod tests;
