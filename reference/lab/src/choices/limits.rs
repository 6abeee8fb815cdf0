//! Choices about limits: the beginning of a window, the counted requests, the rate-limit headers, and the content of a refusal.

use super::{Builds, Choice, circumstance, other, own};
use crate::Request;
use crate::limiter::{Anchor, Written};
use animal_store_reference::rate_limit::BanPolicy;

impl Choice {
    /// Does not count some requests with responses of some statuses, or only in their own responses.
    fn spares(self, free: fn(&Request, status: u16) -> bool, gives_back: bool) -> Choice {
        self.limits(move |policy| (policy.free, policy.gives_back) = (Some(free), gives_back))
    }
}

fn failed(_: &Request, status: u16) -> bool {
    status >= 400
}

/// The status of a request for an animal that does not exist.
fn missing(_: &Request, status: u16) -> bool {
    matches!(status, 404 | 410)
}

fn malformed(request: &Request, status: u16) -> bool {
    failed(request, status) && !missing(request, status)
}

/// Unlike [`malformed`], no other refusal, such as the 402 of store orders.
fn got_400(_: &Request, status: u16) -> bool {
    status == 400
}

fn created_with_400(request: &Request, status: u16) -> bool {
    status == 400 && request.is_create()
}

/// Choices about limits, whose outcome depends on the plan of a key.
#[must_use]
pub fn choices() -> Vec<Choice> {
    vec![
        own("headers.window", "utc-minute", "A window is a minute of the clock, counted by the reference itself."),
        other("headers.window", "first-request", "A window begins with the first request after the last one.")
            .limits(|policy| policy.anchor = Anchor::Request),
        other("headers.window", "sliding-log", "The last minute's requests count; Reset is when the oldest one ends.")
            .limits(|policy| policy.anchor = Anchor::Log(60)),
        other("headers.window", "log-in-slots", "The last minute's requests count, in slots of ten seconds.")
            .limits(|policy| (policy.anchor, policy.slot) = (Anchor::Log(60), Some(10))),
        other("headers.window", "log-until-empty", "The last minute's requests count; Reset is when all have ended.")
            .limits(|policy| policy.anchor = Anchor::Draining(60)),
        other("headers.window", "log-in-slots-until-empty", "The last minute's ten-second slots count, until all end.")
            .limits(|policy| (policy.anchor, policy.slot) = (Anchor::Draining(60), Some(10))),
        other("headers.window", "sliding-counter", "The part of the last window less than a minute ago counts.")
            .limits(|policy| policy.anchor = Anchor::Sliding),
        other("headers.window", "sliding-counter-next", "Like sliding-counter, with the Reset of the next request.")
            .limits(|policy| policy.anchor = Anchor::SlidingNext),
        other(
            "headers.window",
            "sliding-counter-next-off-clock",
            "Like sliding-counter-next, 17 s after the clock's minutes.",
        )
        .limits(|policy| (policy.anchor, policy.offset) = (Anchor::SlidingNext, 17)),
        other("headers.window", "clock-minute", "A window is a minute of the clock.").limits(|_| {}),
        own("headers.window/reported", "reports-fewer-left", "The headers report the window with fewer requests left."),
        other("headers.window/reported", "reports-day", "The headers report the day.")
            .limits(|policy| policy.reports_day = true),
        other(
            "headers.window/reported",
            "reports-log-of-day",
            "The last day's requests; Reset is when the newest ends.",
        )
        .limits(|policy| (policy.reports_day, policy.logs_day) = (true, true)),
        own("headers.window/counted", "counted-with-request", "Remaining has the request itself taken off."),
        other("headers.window/counted", "counted-without-request", "Remaining is what was left before the request.")
            .limits(|policy| policy.written = Written::Before),
        other("headers.window/counted", "counted-when-answered", "Remaining is what is left when the response leaves.")
            .limits(|policy| policy.written = Written::OnAnswer),
        own("headers.refused-count", "counted", "Every admitted request counts, whatever its outcome."),
        other("headers.refused-count", "free", "Requests that fail use nothing up.").spares(failed, false),
        other("headers.refused-count", "malformed-free", "Malformed requests use nothing up.").spares(malformed, false),
        other(
            "headers.refused-count",
            "bad-request-free",
            "Requests that get 400 use nothing up, unlike other failures.",
        )
        .spares(got_400, false),
        other(
            "headers.refused-count",
            "bad-body-free",
            "Creations that get 400 use nothing up, unlike other failures.",
        )
        .spares(created_with_400, false),
        other("headers.refused-count", "bad-body-given-back", "Creations that get 400 are given back once reported.")
            .spares(created_with_400, true),
        other("headers.refused-count", "missing-free", "Requests for an animal that does not exist use nothing up.")
            .spares(missing, false),
        other("headers.refused-count", "given-back", "Requests that fail are given back after they were reported.")
            .spares(failed, true),
        other("headers.refused-count", "malformed-given-back", "Malformed requests are given back once reported.")
            .spares(malformed, true),
        other("headers.refused-count", "missing-given-back", "Requests that find nothing are given back later.")
            .spares(missing, true),
        own("headers.refused-count/429", "refusals-free", "Requests over the limit do not count."),
        other("headers.refused-count/429", "refusals-counted", "Requests over the limit count too.")
            .limits(|policy| policy.counts_refusals = true),
        own("quota.retry-after-form/wait", "waits-until-reset", "Retry-After ends with the window."),
        other("quota.retry-after-form/wait", "waits-longer", "Retry-After ends three seconds after the window.")
            .limits(|policy| policy.extra_wait = 3),
        other("quota.retry-after-form/wait", "rounded-down", "Retry-After ends a second before the window.")
            .limits(|policy| policy.extra_wait = -1),
        own("quota.retry-after-form", "seconds", "Retry-After is a number of seconds."),
        other("quota.retry-after-form", "date", "Retry-After is a date.").limits(|policy| policy.dates = true),
        own("quota.body", "error", "A 429 has an Error."),
        other("quota.body", "empty", "A 429 has no body.").limits(|policy| policy.empty = true),
        own("quota.ban", "after-ten", "A key is banned for five minutes after ten refusals in a window."),
        other("quota.ban", "never", "A key is never banned.")
            .sets(|setting| setting.ban = Some(BanPolicy { after: 0, seconds: 0 })),
        other("quota.ban", "five-minutes", "A second refusal bans the key for five minutes.")
            .limits(|policy| policy.ban = Some(300)),
        other("quota.ban", "two-minutes", "A second refusal bans the key for two minutes.")
            .limits(|policy| policy.ban = Some(120)),
        circumstance("quota.ban/meanwhile", "banned-before", "The key is banned for 75 s at its first request.")
            .limits(|policy| policy.banned = Some((1, 75))),
        circumstance("quota.ban/meanwhile", "banned-meanwhile", "The key is banned for 85 s at its fortieth request.")
            .limits(|policy| policy.banned = Some((40, 85))),
        circumstance("headers.remaining-falls", "some-others", "Every ninth request, another client sends one too.")
            .limits(|policy| policy.others = Some(9)),
        circumstance("headers.remaining-falls", "many-others", "Every second request, another client sends one too.")
            .limits(|policy| policy.others = Some(2)),
        circumstance(
            "headers.remaining-falls",
            "others-and-bans",
            "Another client sends as many requests; bans follow.",
        )
        .limits(|policy| (policy.others, policy.ban, policy.written) = (Some(2), Some(120), Written::Before)),
        circumstance("headers.remaining-falls", "others-in-a-log", "Another client uses the key; a log counts.")
            .limits(|policy| (policy.others, policy.anchor) = (Some(5), Anchor::Log(60))),
        circumstance("headers.remaining-falls", "steady-others", "Another client sends a request every 2.5 seconds.")
            .limits(|policy| policy.steady = Some(2_500)),
        circumstance(
            "headers.remaining-falls",
            "steady-others-in-a-log",
            "Another client sends one in 2.5 s; a log counts.",
        )
        .limits(|policy| (policy.steady, policy.anchor) = (Some(2_500), Anchor::Log(60))),
        circumstance("headers.reset-time", "beginning-of-minute", "The clock starts at the beginning of a minute.")
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:00Z")),
        circumstance("headers.reset-time", "end-of-minute", "The clock starts at the end of a minute.")
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:59Z")),
        circumstance("headers.reset-time", "end-of-day", "The clock starts at the end of a day.")
            .sets(|setting| setting.start_at = Some("2026-06-01T23:59:50Z")),
        circumstance("headers.reset-time", "end-of-reported-day", "The clock starts at the end of a day, as reported.")
            .limits(|policy| policy.reports_day = true)
            .sets(|setting| setting.start_at = Some("2026-06-01T23:59:40Z")),
        circumstance("headers.reset-time", "day-of-removal", "The clock starts on 5 December 2030.")
            .sets(|setting| setting.start_at = Some("2030-12-05T11:59:45Z")),
        circumstance("headers.reset-time", "eve-of-removal", "The clock starts ten seconds before 5 December 2030.")
            .sets(|setting| setting.start_at = Some("2030-12-04T23:59:50Z")),
        circumstance("headers.reset-time", "end-of-removal", "The clock starts ten seconds before 6 December 2030.")
            .sets(|setting| setting.start_at = Some("2030-12-05T23:59:50Z")),
        circumstance("headers.reset-time", "long-after-removal", "The clock starts in 2033.")
            .sets(|setting| setting.start_at = Some("2033-02-28T23:58:10Z")),
    ]
}
