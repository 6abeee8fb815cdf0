//! Values that would make sense in another unit, in another time zone, or by another clock.

use std::collections::BTreeSet;

use animal_store_rules::history::Entry;
use animal_store_rules::limits::Answer;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::retry_after::{self, RetryAfter};

use super::{Broken, Cause};

/// The number of milliseconds in a second.
const MILLI: i64 = 1_000;

/// The cause where Reset is a delay, or in milliseconds.
pub(super) fn of_reset(broken: &Broken<'_, '_>) -> Option<Cause> {
    let delay = broken.explained_by(&["headers.reset-time"], is_delay);
    // A Reset that is always 0 is not a delay.
    let has_delay = broken.entries().iter().any(|entry| reset(entry).is_some_and(|reset| reset > 0));
    let (sentence, explained) = if !delay.is_empty() && has_delay {
        ("Reset is a delay in seconds instead of a Unix time", delay)
    } else {
        let millis = broken.explained_by(&["headers.reset-time"], is_millis);
        ("Reset is a Unix time in milliseconds instead of seconds", millis)
    };
    let shown = broken.entries().iter().filter(|entry| is_delay(entry) || is_millis(entry));
    Cause::shown_by("unit-of-reset", sentence, explained, shown)
}

fn reset(entry: &Entry<'_>) -> Option<i64> {
    entry.rate.as_ref().and_then(|rate| rate.reset.integer())
}

/// Returns true if Reset is a number of seconds within a day.
fn is_delay(entry: &Entry<'_>) -> bool {
    reset(entry).is_some_and(|reset| (0..=Tolerance::DAY.seconds() + 1).contains(&reset))
}

/// Returns true if Reset, taken as milliseconds, is a Unix time near the answer.
fn is_millis(entry: &Entry<'_>) -> bool {
    let (now, day) = (entry.answered_at().as_second(), Tolerance::DAY.seconds());
    reset(entry).is_some_and(|reset| (now - day..=now + 2 * day).contains(&(reset / MILLI)))
}

/// The number of responses that show by how much two clocks differ.
const SEVERAL: usize = 8;

/// The cause where each Reset is off by the same time: by whole hours, by a minute, or by the difference of two clocks.
pub(super) fn of_clock(broken: &Broken<'_, '_>) -> Option<Cause> {
    let (minute, hour) = (Tolerance::MINUTE.seconds(), 3_600);
    let slack = Tolerance::CLOCK_SLACK.seconds();
    let explained = broken.explained(&["headers.reset-time"], |_| true);
    broken.facts.limiter.keys().iter().find_map(|key| {
        let answers = || key.answers_outside_bans().filter(|answer| !answer.entry.is_limited());
        let ahead: Vec<i64> = answers().filter_map(Answer::ahead).collect();
        let ends: BTreeSet<(u64, i64)> = answers().map(|answer| (answer.window.limit, answer.window.reset)).collect();
        let (least, most) = (*ahead.iter().min()?, *ahead.iter().max()?);
        // The end of a minute lies up to a minute ahead, so each response bounds by how much it is off.
        let off = most - minute..=least;
        let off = off.start() - slack..=off.end() + slack;
        let may_be = |seconds: i64| off.contains(&seconds);
        let is_constant = !off.is_empty() && ahead.len() >= SEVERAL && ends.len() >= 2;
        let is_other_unit = off.end().abs() > Tolerance::DAY.seconds();
        if !is_constant || is_other_unit || may_be(0) {
            return None;
        }
        let hours = (off.start() + hour / 2).div_euclid(hour);
        let sentence = if hours != 0 && may_be(hours * hour) {
            let direction = if hours > 0 { "ahead" } else { "behind" };
            format!("Reset is {} h {direction}: local time instead of Unix time", hours.abs())
        } else if may_be(-minute) {
            "Reset is the beginning of the window instead of its end".to_owned()
        } else {
            format!(
                "Reset is off by about {} s: do `Date` and Reset come from two clocks?",
                i64::midpoint(*off.start(), *off.end()).abs()
            )
        };
        let shown = answers().map(|answer| answer.entry);
        Cause::shown_by("clock-of-reset", sentence, explained.clone(), shown)
    })
}

/// The requirements that a wrong `Retry-After` concerns.
const CONCERNED: [&str; 5] = [
    "quota.recovers",
    "quota.refused-stores-nothing",
    "quota.retry-after",
    "quota.retry-after-suffices",
    "quota.retry-after-syntax",
];

/// The cause where each `Retry-After`, taken as milliseconds or as a Unix time, ends with its window. A Reset that is a delay itself is no Unix
/// time.
pub(super) fn of_retry_after(broken: &Broken<'_, '_>) -> Option<Cause> {
    let refusals = broken.facts.limiter.keys().iter().flat_map(|key| key.answers());
    let refusals: Vec<&Answer<'_>> = refusals.filter(|answer| answer.entry.is_limited()).collect();
    let (mut are_millis, mut are_times) = (true, true);
    for answer in &refusals {
        let Ok(RetryAfter::Seconds(delay)) = retry_after::read(answer.entry.response()?) else { return None };
        let delay = i64::try_from(delay).ok()?;
        let is_near = |one: i64, other: i64| (one - other).abs() <= Tolerance::CLOCK_SLACK.seconds();
        are_millis &= delay >= 2 * MILLI && is_near(delay / MILLI, answer.left());
        are_times &= delay > Tolerance::DAY.seconds() && is_near(delay, answer.window.reset);
    }
    let sentence = match (are_millis, are_times) {
        _ if refusals.is_empty() => return None,
        (true, _) => "Retry-After is in milliseconds instead of seconds",
        (_, true) => "Retry-After is a Unix time instead of a delay",
        _ => return None,
    };
    let concerned = broken.concerned(&CONCERNED);
    Cause::shown_by("unit-of-retry-after", sentence, concerned, refusals.into_iter().map(|answer| answer.entry))
}

/// The cause where the limit of a day is exhausted and `Retry-After` names a minute.
pub(super) fn minute_for_a_day(broken: &Broken<'_, '_>) -> Option<Cause> {
    let waits_a_minute = |entry: &Entry<'_>| {
        let left = entry.window().map(|window| window.reset - entry.answered_at().as_second());
        let of_day = 2 * Tolerance::MINUTE.seconds()..=Tolerance::DAY.seconds();
        let is_of_day = left.is_some_and(|left| of_day.contains(&left));
        let wait = entry.wait_asked_for().map(|wait| wait.as_secs());
        entry.is_limited() && is_of_day && wait.is_some_and(|wait| wait <= Tolerance::LONGEST_MINUTE.seconds())
    };
    let shown: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| waits_a_minute(entry)).collect();
    let first = shown.first()?;
    let sentence = format!(
        "the limit of the day is exhausted, and Retry-After ({} s) names the end of a minute",
        first.wait_asked_for()?.as_secs()
    );
    let concerned = broken.concerned(&CONCERNED);
    Cause::shown_by("retry-after-of-the-minute", sentence, concerned, shown)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ids, shown};
    use crate::trace_builder::TraceBuilder;

    /// The reset that a builder reports: seconds from noon on 1 June 2026.
    fn reset(ahead: i64) -> TraceBuilder {
        TraceBuilder::new().window(ahead).list(200, 9, 60).list(200, 8, 60)
    }

    #[test]
    fn a_reset_in_another_unit_is_named() {
        const NOON: i64 = 1_780_315_200;
        assert_eq!(
            shown(reset(42 - NOON)),
            [("Reset is a delay in seconds instead of a Unix time".to_owned(), vec!["headers.reset-time"])]
        );
        let millis = shown(reset((NOON + 60) * 1_000 - NOON));
        assert_eq!(millis[0].0, "Reset is a Unix time in milliseconds instead of seconds");
        assert_eq!(ids(reset(5 * 86_400)), [""; 0], "a wrong time, and no other unit");
        assert_eq!(ids(reset(-NOON)), [""; 0], "always 0: no time in any unit");
    }

    #[test]
    fn a_reset_that_is_off_by_the_same_time_is_that_of_another_clock_or_zone() {
        // A list every five seconds for two minutes, each with the end of its minute, off by this much.
        let off_by = |off: i64| {
            let lists = (0..24).fold(TraceBuilder::new(), |builder, at| {
                builder.wait_millis(4_990).window(60 - 5 * (at + 1) % 60 + off).list(200, 59 - (at as u64 + 1) % 12, 60)
            });
            shown(lists).into_iter().map(|(sentence, _)| sentence).next()
        };
        assert_eq!(off_by(7_200).as_deref(), Some("Reset is 2 h ahead: local time instead of Unix time"));
        assert_eq!(off_by(-18_000).as_deref(), Some("Reset is 5 h behind: local time instead of Unix time"));
        assert_eq!(off_by(-60).as_deref(), Some("Reset is the beginning of the window instead of its end"));
        let apart = off_by(25).expect("a cause");
        assert!(apart.starts_with("Reset is off by about 2"), "{apart}");
        assert_eq!(off_by(0), None);
    }

    #[test]
    fn a_retry_after_of_a_minute_does_not_end_the_limit_of_a_day() {
        let day = |retry_after: &str| {
            let spent =
                TraceBuilder::new().window(40_000).list(200, 0, 1_000).list(429, 0, 1_000).retry_after(retry_after);
            ids(spent.wait(62).list(429, 0, 1_000).retry_after(retry_after).list(500, 0, 1_000))
        };
        assert!(day("58").contains(&"retry-after-of-the-minute"), "{:?}", day("58"));
        assert!(!day("40000").contains(&"retry-after-of-the-minute"));
        const NOON: i64 = 1_780_315_200;
        let millis = TraceBuilder::new().window((NOON + 60) * 1_000 - NOON).list(200, 0, 60).list(429, 0, 60);
        assert!(!ids(millis.retry_after("58")).contains(&"retry-after-of-the-minute"), "Reset is in milliseconds");
    }

    fn refused(retry_after: &str) -> TraceBuilder {
        let refused = TraceBuilder::new().list(200, 0, 60).list(429, 0, 60).retry_after(retry_after);
        // Something is broken, so that there is something to explain.
        refused.wait(62).window(60).list(500, 58, 60)
    }

    #[test]
    fn a_retry_after_in_another_unit_is_named() {
        let sentence = |text: &str| {
            let of = shown(refused(text)).into_iter().find(|(sentence, _)| sentence.starts_with("Retry-After"));
            of.map(|(sentence, _)| sentence)
        };
        assert_eq!(sentence("59900").as_deref(), Some("Retry-After is in milliseconds instead of seconds"));
        assert_eq!(sentence("1780315260").as_deref(), Some("Retry-After is a Unix time instead of a delay"));
        assert_eq!(sentence("60"), None);
        assert_eq!(sentence("3600"), None, "a long wait, and no other unit");
        const NOON: i64 = 1_780_315_200;
        let refused = TraceBuilder::new().window(42 - NOON).list(200, 0, 60).list(429, 0, 60).retry_after("42");
        let both = shown(refused.window(41 - NOON).list(429, 0, 60).retry_after("41"));
        assert!(both.iter().all(|(sentence, _)| sentence.starts_with("Reset is a delay")), "{both:?}");
    }
}
