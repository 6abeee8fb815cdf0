//! Choices about limits: the beginning of a window, the counted requests, the rate-limit headers, and the content of a refusal.

use super::{Choice, circumstance, other, own};
use crate::limiter::{Anchor, Failures};
use animal_store_reference::rate_limit::BanPolicy;

/// Choices about limits, whose outcome depends on the plan of a key.
pub const CHOICES: &[Choice] = &[
    own("headers.window", "utc-minute", "A window is a minute of the clock, counted by the reference's own limiter."),
    other(
        "headers.window",
        "first-request",
        "A window begins with the first request after the last one.",
        "a counter that expires a minute after it was made",
        |b| b.limit(|policy| policy.anchor = Anchor::Request),
    ),
    other(
        "headers.window",
        "sliding-log",
        "The requests of the last minute count, and Reset is when the oldest of them no longer does.",
        "a sorted set of times",
        |b| b.limit(|policy| policy.anchor = Anchor::Log(60)),
    ),
    other(
        "headers.window",
        "log-until-empty",
        "The requests of the last minute count, and Reset is when none of them does any more.",
        "a set of times that expires a minute after the last",
        |b| b.limit(|policy| policy.anchor = Anchor::Draining(60)),
    ),
    other(
        "headers.window",
        "sliding-counter",
        "The minute before counts by the part of it that is less than a minute ago.",
        "two counters that are weighed",
        |b| b.limit(|policy| policy.anchor = Anchor::Sliding),
    ),
    other(
        "headers.window",
        "clock-minute",
        "A window is a minute of the clock.",
        "a counter named by the minute",
        |b| {
            b.limit(|_| {});
        },
    ),
    own("headers.window/reported", "reports-fewer-left", "The headers report the window with fewer requests left."),
    other(
        "headers.window/reported",
        "reports-day",
        "The headers report the day.",
        "a gateway that bills by the day",
        |b| {
            b.limit(|policy| policy.reports_day = true);
        },
    ),
    own("headers.window/counted", "counted-with-request", "Remaining has the request itself taken off."),
    other(
        "headers.window/counted",
        "counted-without-request",
        "Remaining is what was left before the request.",
        "headers that are written before the count is",
        |b| b.limit(|policy| policy.counts_late = true),
    ),
    own("headers.refused-count", "counted", "Every admitted request counts, whatever its outcome."),
    other("headers.refused-count", "free", "Requests that fail use nothing up.", "a meter of success", |b| {
        b.limit(|policy| policy.failures = Failures::AreFree);
    }),
    other(
        "headers.refused-count",
        "given-back",
        "Requests that fail are given back after they were reported.",
        "a meter that is corrected when the response is known",
        |b| b.limit(|policy| policy.failures = Failures::AreRefunded),
    ),
    own("quota.retry-after-form/wait", "waits-until-reset", "Retry-After ends with the window."),
    other(
        "quota.retry-after-form/wait",
        "waits-longer",
        "Retry-After ends three seconds after the window.",
        "some time to spare",
        |b| b.limit(|policy| policy.extra_wait = 3),
    ),
    own("quota.retry-after-form", "seconds", "Retry-After is a number of seconds."),
    other("quota.retry-after-form", "date", "Retry-After is a date.", "RFC 9110 section 10.2.3", |b| {
        b.limit(|policy| policy.dates = true);
    }),
    own("quota.body", "error", "A 429 has an Error."),
    other("quota.body", "empty", "A 429 has no body.", "a limiter that sets the status alone", |b| {
        b.limit(|policy| policy.empty = true);
    }),
    own("quota.ban", "after-ten", "A key is banned for five minutes after ten refusals in a window."),
    other("quota.ban", "never", "A key is never banned.", "a limiter without a memory", |b| {
        b.setting.ban = Some(BanPolicy { after: 0, seconds: 0 });
    }),
    other("quota.ban", "five-minutes", "A second refusal bans the key for five minutes.", "a strict gateway", |b| {
        b.limit(|policy| policy.ban = Some(300));
    }),
    other("quota.ban", "two-minutes", "A second refusal bans the key for two minutes.", "a strict gateway", |b| {
        b.limit(|policy| policy.ban = Some(120));
    }),
    circumstance("quota.ban/meanwhile", "banned-before", "The key is banned for 75 s at its first request.", |b| {
        b.limit(|policy| policy.banned = Some((1, 75)));
    }),
    circumstance(
        "quota.ban/meanwhile",
        "banned-meanwhile",
        "The key is banned for 85 s at its fortieth request.",
        |b| {
            b.limit(|policy| policy.banned = Some((40, 85)));
        },
    ),
    circumstance("headers.remaining-falls", "some-others", "Every ninth request, somebody else sends one too.", |b| {
        b.limit(|policy| policy.others = Some(9));
    }),
    circumstance("headers.remaining-falls", "many-others", "Every second request, somebody else sends one too.", |b| {
        b.limit(|policy| policy.others = Some(2));
    }),
    circumstance(
        "headers.remaining-falls",
        "others-and-bans",
        "Every second request, somebody else sends one too, and a second refusal bans the key.",
        |b| b.limit(|policy| (policy.others, policy.ban, policy.counts_late) = (Some(2), Some(120), true)),
    ),
    circumstance(
        "headers.remaining-falls",
        "others-in-a-log",
        "Every fifth request, somebody else sends one too, and the requests of the last minute count.",
        |b| b.limit(|policy| (policy.others, policy.anchor) = (Some(5), Anchor::Log(60))),
    ),
    circumstance(
        "headers.remaining-falls",
        "steady-others",
        "Every 2.5 seconds, somebody else sends a request.",
        |b| {
            b.limit(|policy| policy.steady = Some(2_500));
        },
    ),
    circumstance(
        "headers.remaining-falls",
        "steady-others-in-a-log",
        "Every 2.5 seconds, somebody else sends a request, and the requests of the last minute count.",
        |b| b.limit(|policy| (policy.steady, policy.anchor) = (Some(2_500), Anchor::Log(60))),
    ),
    circumstance("headers.reset-time", "beginning-of-minute", "The clock starts at the beginning of a minute.", |b| {
        b.setting.start_at = Some("2026-06-01T12:00:00Z");
    }),
    circumstance("headers.reset-time", "end-of-minute", "The clock starts at the end of a minute.", |b| {
        b.setting.start_at = Some("2026-06-01T12:00:59Z");
    }),
    circumstance("headers.reset-time", "end-of-day", "The clock starts at the end of a day.", |b| {
        b.setting.start_at = Some("2026-06-01T23:59:50Z");
    }),
    circumstance(
        "headers.reset-time",
        "end-of-reported-day",
        "The clock starts at the end of a day, which the headers report.",
        |b| {
            b.limit(|policy| policy.reports_day = true);
            b.setting.start_at = Some("2026-06-01T23:59:40Z");
        },
    ),
    circumstance("headers.reset-time", "day-of-removal", "The clock starts on 5 December 2030.", |b| {
        b.setting.start_at = Some("2030-12-05T11:59:45Z");
    }),
    circumstance("headers.reset-time", "eve-of-removal", "The clock starts ten seconds before 5 December 2030.", |b| {
        b.setting.start_at = Some("2030-12-04T23:59:50Z");
    }),
    circumstance("headers.reset-time", "end-of-removal", "The clock starts ten seconds before 6 December 2030.", |b| {
        b.setting.start_at = Some("2030-12-05T23:59:50Z");
    }),
    circumstance("headers.reset-time", "long-after-removal", "The clock starts in 2033.", |b| {
        b.setting.start_at = Some("2033-02-28T23:58:10Z");
    }),
];
