//! Rate limit headers: on every response of an operation, and correct.
//!
//! Two responses are compared only if the first was complete before the second request was sent, so that nothing depends on the
//! order of concurrent requests. Refused requests may count or not, and other traffic may use the same key: Remaining may fall
//! faster than the judge's own requests explain, never slower.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;

use super::sampled;
use crate::catalogue::plan::PlanLimits;
use crate::facts::Facts;
use crate::history::Entry;
use crate::limits::{Answer, Finding, KeyLimits, Kind};
use crate::request::Credential;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Fact;
use crate::trace::rate_limit::Field;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("headers.limit", of_operation, |_, entry, j| present(entry, j, 0)).needing(Needs::HEADERS),
    Rule::of_entries("headers.remaining", of_operation, |_, entry, j| present(entry, j, 1)).needing(Needs::HEADERS),
    Rule::of_entries("headers.reset", of_operation, |_, entry, j| present(entry, j, 2)).needing(Needs::HEADERS),
    Rule::of_keys("headers.limit-figure", limit_figure)
        .needing(Needs::LIMITS)
        .contradicted_in_samples_by(sampled::limit_figure),
    Rule::of_entries("headers.remaining-range", of_operation, remaining_range).needing(Needs::HEADERS),
    Rule::of_keys("headers.remaining-falls", remaining_falls)
        .needing(Needs::LIMITS)
        .contradicted_in_samples_by(sampled::remaining_falls),
    Rule::of_keys("headers.remaining-never-rises", remaining_never_rises).needing(Needs::LIMITS),
    Rule::new("headers.reset-time", reset_time).needing(Needs::HEADERS),
];

/// Returns true if the response answers an operation, with any status code. The refusal of an edge is excluded: it has no
/// header fields of the service.
fn of_operation(entry: &Entry<'_>) -> bool {
    entry.is_of_operation() && entry.rate.is_some() && !entry.may_be_of_edge()
}

/// Requires one of the three rate-limit header fields, given its place among them.
fn present(entry: &Entry<'_>, judgement: &mut Judgement, place: usize) {
    let Some((name, field)) = entry.rate.as_ref().map(|rate| rate.fields()[place]) else { return };
    let problem = match field {
        Field::Integer(_) => None,
        Field::Missing => Some("without it".into()),
        Field::Repeated => Some("with it more than once".into()),
        Field::Malformed(text) => Some(sentence!("with {}: {}", name, text.clone())),
    };
    judgement.require(entry, problem.is_none(), sentence!("{}, once, an integer", name), || {
        sentence!("{} {}", answered(entry), problem.unwrap_or_else(|| "".into()))
    });
}

fn limit_figure(&Facts { history, .. }: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let named = history.context.plan_limits.filter(|_| key.index() == 0);
    let mut limits = BTreeSet::new();
    let answers: Vec<Answer<'_>> = key.answers_outside_bans().copied().collect();
    one_limit_for_a_minute(&answers, named, judgement);
    for &Answer { entry, window } in key.answers() {
        // A ban may go with a limit of its own.
        if !key.may_be_ban(entry) {
            judgement.require(entry, window.limit > 0, "a Limit above 0 for a valid key", || {
                sentence!("{} with a Limit of 0", answered(entry))
            });
        }
        limits.insert(window.limit);
        match named {
            Some(PlanLimits { per_minute, per_day }) => {
                let held = [per_minute, per_day].contains(&window.limit);
                judgement.require(entry, held, sentence!("a Limit of {} or {}", per_minute, per_day), || {
                    sentence!("{} with a Limit of {}", answered(entry), window.limit)
                });
            }
            None => judgement.require(entry, limits.len() <= 2, "a figure per minute or a figure per day", || {
                let limits: Vec<String> = limits.iter().map(u64::to_string).collect();
                sentence!("a Limit that takes the values {}", limits.join(", "))
            }),
        }
    }
}

/// Requires one Limit for the minute, which is not the Limit for the day of the named plan. A Limit belongs to the minute if it is
/// reported with two window ends, each within a minute: no day ends twice in a run.
fn one_limit_for_a_minute(answers: &[Answer<'_>], named: Option<PlanLimits>, judgement: &mut Judgement) {
    let mut ends: BTreeMap<u64, i64> = BTreeMap::new();
    let mut of_minutes: BTreeMap<u64, &Entry<'_>> = BTreeMap::new();
    for answer in answers {
        let Answer { entry, window } = *answer;
        let near = answer.ahead().is_some_and(|ahead| ahead <= Tolerance::LONGEST_MINUTE.seconds());
        let end = near.then(|| *ends.entry(window.limit).or_insert(window.reset));
        if end.is_some_and(|end| (window.reset - end).abs() > Tolerance::CLOCK_SLACK.seconds()) {
            of_minutes.entry(window.limit).or_insert(entry);
        }
    }
    if let Some(PlanLimits { per_minute, per_day }) = named
        && let Some(entry) = of_minutes.get(&per_day)
        // If Remaining exceeds the limit of a minute, Reset is wrong, and not Limit.
        && answers.iter().all(|answer| answer.window.remaining < per_minute)
        && per_minute != per_day
    {
        let found = sentence!("a limit of {}, which is that of a day, with windows that end within a minute", per_day);
        judgement.fail(&[entry], sentence!("a Limit of {} for the minute", per_minute), found);
    }
    let mut of_minutes = of_minutes.into_iter();
    if let (Some((one, first)), Some((other, second))) = (of_minutes.next(), of_minutes.next()) {
        let found = sentence!("a limit of {} and one of {}, each with windows that end within a minute", one, other);
        judgement.fail(&[second, first], "one limit for the minute", found);
    }
}

fn remaining_range(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let Some(rate) = &entry.rate else { return };
    let (Some(limit), Some(remaining)) = (rate.limit.integer(), rate.remaining.integer()) else { return };
    judgement.require(entry, (0..=limit).contains(&remaining), "a Remaining from 0 to Limit", || {
        sentence!("{} with Remaining {} of {}", answered(entry), remaining, limit)
    });
}

fn remaining_falls(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let explanation = key.explanation();
    let uncounted = explanation.of_kinds(&[Kind::NotCounted, Kind::Rises]).next();
    if let Some(pair) = explanation.never_falls.filter(|_| uncounted.is_some()) {
        let remaining = reported_remaining(pair[0]).unwrap_or(0);
        let found =
            sentence!("{} successful requests in one window, and still {}", explanation.compared + 1, remaining);
        judgement.fail(&pair, "a Remaining that falls with every successful request", found);
    } else {
        // `quota.every-operation` reports single requests that are not counted, and names the operation.
        judgement.judged += explanation.compared;
    }
}

fn remaining_never_rises(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let explanation = key.explanation();
    judgement.judged += explanation.compared;
    // `headers.remaining-falls` reports a Remaining that never changes.
    let pair = explanation.never_falls;
    if pair.is_none_or(|[after, before]| reported_remaining(after) != reported_remaining(before)) {
        judgement.fail_all(explanation.of_kinds(&[Kind::Rises]));
    }
}

fn reported_remaining(entry: &Entry<'_>) -> Option<u64> {
    entry.window().map(|window| window.remaining)
}

/// Note of `headers.reset-time` for a run in which no exchange shows whether the end of a window is fixed.
const MAY_BE_DRAINING: &str = "each Reset is a minute after the newest request, as with a log of the last minute; only requests at \
    short intervals over more than a minute would show whether it is one";

fn reset_time(facts: &Facts<'_>, judgement: &mut Judgement) {
    for entry in facts.history.entries.iter().filter(|entry| of_operation(entry)) {
        // In a sample, the response to an unknown key may be that of a ban as well.
        if !may_be_of_ban(facts, entry) && entry.credential != Credential::Withheld {
            within_its_window(facts, entry, judgement);
        }
    }
    // Responses are compared only if no request is missing between them and their times are known.
    if facts.history.is_sample() || facts.history.entries.iter().any(withholds_time) {
        return;
    }
    let outside: HashSet<usize> = judgement.failures.iter().flat_map(|failure| failure.exchanges.clone()).collect();
    for key in facts.limiter.keys() {
        let explanation = key.explanation();
        judgement.fail_all(explanation.not_restored().iter().take(1));
        let (days, windows): (Vec<&Finding<'_>>, Vec<_>) = explanation
            .of_kinds(&[Kind::ResetOff, Kind::ResetMoves])
            .filter(|finding| !outside.contains(&finding.entries[0].exchange.number))
            .filter(|finding| !finding.entries.iter().any(|entry| may_be_of_ban(facts, entry)))
            .partition(|finding| finding.is_new_end() && finding.is_of_day);
        judgement.fail_all(windows.into_iter());
        // Where an end of a day restored something, the service may keep a log of the last day, which the requests of yesterday leave one
        // by one.
        if let Some(finding) = days.first()
            && days.iter().all(|finding| restores_nothing(key, finding))
        {
            let found = "the limit of a day, with an end less than a day after another one";
            judgement.fail(&finding.entries, "the end of the day that the limit is of", found);
        }
        if explanation.may_be_draining() {
            judgement.unseen = Some(MAY_BE_DRAINING.to_owned());
        }
    }
}

/// Returns true if a response may be that of a ban, which may report a Reset of its own.
fn may_be_of_ban(facts: &Facts<'_>, entry: &Entry<'_>) -> bool {
    entry.credential == Credential::Banned || facts.limiter.limits_of(entry).is_some_and(|key| key.may_be_ban(entry))
}

/// Returns true if Remaining fell between the two responses of a finding, by at least the number of successes since the earlier one.
fn restores_nothing(key: &KeyLimits<'_>, finding: &Finding<'_>) -> bool {
    let (Some(after), Some(before)) = (finding.window(0), finding.window(1)) else { return false };
    let Some(fell) = before.remaining.checked_sub(after.remaining) else { return false };
    let (later, earlier) = (finding.entries[0], finding.entries[1]);
    let since = key.answers().iter().filter(|answer| earlier.precedes(answer.entry) && answer.entry.succeeded());
    let successes = since.filter(|answer| answer.entry.exchange.number <= later.exchange.number).count();
    fell >= (successes as u64).max(1)
}

/// Returns true if the recording withholds the times of the exchange.
fn withholds_time(entry: &Entry<'_>) -> bool {
    entry.exchange.known.withheld.contains(Fact::Times)
}

/// Requires a Reset between the time of the response and the latest possible end of its window: a minute later for the Limit of a
/// minute, otherwise a day later.
fn within_its_window(facts: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let Some((rate, reset)) = entry.rate.as_ref().and_then(|rate| Some((rate, rate.reset.integer()?))) else { return };
    let plan_limits = facts.limiter.limits_of(entry).and_then(|key| key.certain_plan_limits());
    let is_of_minute = plan_limits.zip(rate.limit.integer()).is_some_and(|(plan_limits, limit)| {
        limit == plan_limits.per_minute as i64 && plan_limits.per_day != plan_limits.per_minute
    });
    let day = Tolerance::DAY.seconds();
    let length = if is_of_minute { Tolerance::MINUTE.seconds() } else { day };
    let slack = Tolerance::CLOCK_SLACK.seconds();
    let (clock, now, earliest, latest) = match entry.server_time().map(Timestamp::as_second) {
        // The header fields may be written when the request arrives, and Date when the response leaves. One second more makes up
        // for the part that the whole seconds of the duration leave out.
        Some(date) => ("the response's Date", date, date - took(entry) - 1 - slack, date + length + slack),
        // It is unknown which clock the times of a sample are from. A withheld time may be any.
        None if facts.history.is_sample() || withholds_time(entry) => return,
        // Without a Date the server's clock is unknown. A slack of a day still exposes a Reset in another unit.
        None => {
            let now = entry.exchange.received_at.as_second();
            ("the judge's clock, as there is no Date,", now, now - day, now + 2 * day)
        }
    };
    // Something between server and client may write `Date`, with a clock of its own.
    let own = entry.exchange.received_at.as_second();
    let by_own_clock = own - took(entry) - 1 - slack..=own + length + slack;
    let knows_own_clock = !facts.history.is_sample() && !withholds_time(entry);
    let held = (earliest..=latest).contains(&reset) || knows_own_clock && by_own_clock.contains(&reset);
    judgement.require(entry, held, "the Unix time in seconds at which the present window ends", || {
        sentence!("Reset {}, {} from {} at {}", reset, distance(reset.saturating_sub(now)), clock, now)
    });
}

/// The whole seconds between sending a request and the end of its response.
fn took(entry: &Entry<'_>) -> i64 {
    let exchange = entry.exchange;
    exchange.received_at.duration_since(exchange.sent_at).saturating_add(exchange.known.precision).as_secs()
}

fn distance(seconds: i64) -> Sentence {
    let size = seconds.unsigned_abs();
    let text = match size {
        0..120 => sentence!("{} s", size),
        120..7_200 => sentence!("{} min", size / 60),
        7_200..172_800 => sentence!("{} h", size / 3_600),
        _ => sentence!("{} days", size / 86_400),
    };
    if seconds < 0 { sentence!("-{}", text) } else { sentence!("+{}", text) }
}

#[cfg(test)]
mod tests;
