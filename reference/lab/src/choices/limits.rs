//! Choices about limits: the beginning of a window, the counted requests, the rate-limit headers, and the content of a refusal.

use super::{Choice, circumstance, other, own};
use crate::limiter::{Anchor, Failures};
use animal_store_reference::rate_limit::BanPolicy;

/// Choices about limits, whose outcome depends on the plan of a key.
pub const CHOICES: &[Choice] = &[
    own("headers.window", "utc-minute", "A window is a minute of the clock, counted by the reference's own limiter."),
    other("headers.window", "first-request")
        .does("A window begins with the first request after the last one.")
        .like("a counter that expires a minute after it was made")
        .make(|b| b.limit(|policy| policy.anchor = Anchor::Request)),
    other("headers.window", "sliding-log")
        .does("The requests of the last minute count, and Reset is when the oldest of them no longer does.")
        .like("a sorted set of times")
        .make(|b| b.limit(|policy| policy.anchor = Anchor::Log(60))),
    other("headers.window", "log-in-slots")
        .does("The requests of the last minute count, each until its slot of ten seconds is a minute old.")
        .like("six counters of ten seconds")
        .make(|b| b.limit(|policy| (policy.anchor, policy.slot) = (Anchor::Log(60), Some(10)))),
    other("headers.window", "log-until-empty")
        .does("The requests of the last minute count, and Reset is when none of them does any more.")
        .like("a set of times that expires a minute after the last")
        .make(|b| b.limit(|policy| policy.anchor = Anchor::Draining(60))),
    other("headers.window", "sliding-counter")
        .does("The minute before counts by the part of it that is less than a minute ago.")
        .like("two counters that are weighed")
        .make(|b| b.limit(|policy| policy.anchor = Anchor::Sliding)),
    other("headers.window", "clock-minute")
        .does("A window is a minute of the clock.")
        .like("a counter named by the minute")
        .make(|b| b.limit(|_| {})),
    own("headers.window/reported", "reports-fewer-left", "The headers report the window with fewer requests left."),
    other("headers.window/reported", "reports-day")
        .does("The headers report the day.")
        .like("a gateway that bills by the day")
        .make(|b| b.limit(|policy| policy.reports_day = true)),
    own("headers.window/counted", "counted-with-request", "Remaining has the request itself taken off."),
    other("headers.window/counted", "counted-without-request")
        .does("Remaining is what was left before the request.")
        .like("headers that are written before the count is")
        .make(|b| b.limit(|policy| policy.counts_late = true)),
    own("headers.refused-count", "counted", "Every admitted request counts, whatever its outcome."),
    other("headers.refused-count", "free")
        .does("Requests that fail use nothing up.")
        .like("a meter of success")
        .make(|b| b.limit(|policy| policy.failures = Failures::AreFree)),
    other("headers.refused-count", "given-back")
        .does("Requests that fail are given back after they were reported.")
        .like("a meter that is corrected when the response is known")
        .make(|b| b.limit(|policy| policy.failures = Failures::AreRefunded)),
    own("quota.retry-after-form/wait", "waits-until-reset", "Retry-After ends with the window."),
    other("quota.retry-after-form/wait", "waits-longer")
        .does("Retry-After ends three seconds after the window.")
        .like("some time to spare")
        .make(|b| b.limit(|policy| policy.extra_wait = 3)),
    own("quota.retry-after-form", "seconds", "Retry-After is a number of seconds."),
    other("quota.retry-after-form", "date")
        .does("Retry-After is a date.")
        .like("RFC 9110 section 10.2.3")
        .make(|b| b.limit(|policy| policy.dates = true)),
    own("quota.body", "error", "A 429 has an Error."),
    other("quota.body", "empty")
        .does("A 429 has no body.")
        .like("a limiter that sets the status alone")
        .make(|b| b.limit(|policy| policy.empty = true)),
    own("quota.ban", "after-ten", "A key is banned for five minutes after ten refusals in a window."),
    other("quota.ban", "never")
        .does("A key is never banned.")
        .like("a limiter without a memory")
        .make(|b| b.setting.ban = Some(BanPolicy { after: 0, seconds: 0 })),
    other("quota.ban", "five-minutes")
        .does("A second refusal bans the key for five minutes.")
        .like("a strict gateway")
        .make(|b| b.limit(|policy| policy.ban = Some(300))),
    other("quota.ban", "two-minutes")
        .does("A second refusal bans the key for two minutes.")
        .like("a strict gateway")
        .make(|b| b.limit(|policy| policy.ban = Some(120))),
    circumstance("quota.ban/meanwhile", "banned-before")
        .does("The key is banned for 75 s at its first request.")
        .make(|b| b.limit(|policy| policy.banned = Some((1, 75)))),
    circumstance("quota.ban/meanwhile", "banned-meanwhile")
        .does("The key is banned for 85 s at its fortieth request.")
        .make(|b| b.limit(|policy| policy.banned = Some((40, 85)))),
    circumstance("headers.remaining-falls", "some-others")
        .does("Every ninth request, another client sends one too.")
        .make(|b| b.limit(|policy| policy.others = Some(9))),
    circumstance("headers.remaining-falls", "many-others")
        .does("Every second request, another client sends one too.")
        .make(|b| b.limit(|policy| policy.others = Some(2))),
    circumstance("headers.remaining-falls", "others-and-bans")
        .does("Every second request, another client sends one too, and a second refusal bans the key.")
        .make(|b| b.limit(|policy| (policy.others, policy.ban, policy.counts_late) = (Some(2), Some(120), true))),
    circumstance("headers.remaining-falls", "others-in-a-log")
        .does("Every fifth request, another client sends one too, and the requests of the last minute count.")
        .make(|b| b.limit(|policy| (policy.others, policy.anchor) = (Some(5), Anchor::Log(60)))),
    circumstance("headers.remaining-falls", "steady-others")
        .does("Every 2.5 seconds, another client sends a request.")
        .make(|b| b.limit(|policy| policy.steady = Some(2_500))),
    circumstance("headers.remaining-falls", "steady-others-in-a-log")
        .does("Every 2.5 seconds, another client sends a request, and the requests of the last minute count.")
        .make(|b| b.limit(|policy| (policy.steady, policy.anchor) = (Some(2_500), Anchor::Log(60)))),
    circumstance("headers.reset-time", "beginning-of-minute")
        .does("The clock starts at the beginning of a minute.")
        .make(|b| b.setting.start_at = Some("2026-06-01T12:00:00Z")),
    circumstance("headers.reset-time", "end-of-minute")
        .does("The clock starts at the end of a minute.")
        .make(|b| b.setting.start_at = Some("2026-06-01T12:00:59Z")),
    circumstance("headers.reset-time", "end-of-day")
        .does("The clock starts at the end of a day.")
        .make(|b| b.setting.start_at = Some("2026-06-01T23:59:50Z")),
    circumstance("headers.reset-time", "end-of-reported-day")
        .does("The clock starts at the end of a day, which the headers report.")
        .make(|b| {
            b.limit(|policy| policy.reports_day = true);
            b.setting.start_at = Some("2026-06-01T23:59:40Z");
        }),
    circumstance("headers.reset-time", "day-of-removal")
        .does("The clock starts on 5 December 2030.")
        .make(|b| b.setting.start_at = Some("2030-12-05T11:59:45Z")),
    circumstance("headers.reset-time", "eve-of-removal")
        .does("The clock starts ten seconds before 5 December 2030.")
        .make(|b| b.setting.start_at = Some("2030-12-04T23:59:50Z")),
    circumstance("headers.reset-time", "end-of-removal")
        .does("The clock starts ten seconds before 6 December 2030.")
        .make(|b| b.setting.start_at = Some("2030-12-05T23:59:50Z")),
    circumstance("headers.reset-time", "long-after-removal")
        .does("The clock starts in 2033.")
        .make(|b| b.setting.start_at = Some("2033-02-28T23:58:10Z")),
];
