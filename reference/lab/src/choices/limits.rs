//! Choices about limits: the beginning of a window, the counted requests, the rate-limit headers, and the content of a refusal.

use super::{Builds, Choice, circumstance, other, own};
use crate::Request;
use crate::limiter::{Anchor, Written};
use animal_store_reference::rate_limit::BanPolicy;

/// Another kind of window.
fn window(short: &'static str, does: &'static str, anchor: Anchor) -> Choice {
    other("headers.window", short, does).limits(move |policy| policy.anchor = anchor)
}

/// A server that does not count some requests with responses of some statuses, or only in their own responses.
fn spares(short: &'static str, does: &'static str, free: fn(&Request, u16) -> bool, gives_back: bool) -> Choice {
    other("headers.refused-count", short, does)
        .limits(move |policy| (policy.free, policy.gives_back) = (Some(free), gives_back))
}

/// A key that other clients use as well.
fn by_others(short: &'static str, does: &'static str) -> Choice {
    circumstance("headers.remaining-falls", short, does)
}

/// A server whose clock starts at a time.
fn at_time(short: &'static str, does: &'static str, time: &'static str) -> Choice {
    circumstance("headers.reset-time", short, does).sets(|setting| setting.start_at = Some(time))
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

fn bad_body(request: &Request, status: u16) -> bool {
    status == 400 && request.is_create()
}

/// A creation that a parser of bodies answers.
fn unparsed(request: &Request, status: u16) -> bool {
    bad_body(request, status) && serde_json::from_slice::<serde_json::Value>(&request.body).is_err()
}

fn failed_read(request: &Request, status: u16) -> bool {
    failed(request, status) && !request.is_create()
}

/// Choices about limits, whose outcome depends on the plan of a key.
pub fn choices() -> Vec<Choice> {
    vec![
        own("headers.window", "utc-minute", "A window is a minute of the clock, counted by the reference itself."),
        window("first-request", "A window begins with the first request after the last one.", Anchor::Request),
        window("sliding-log", "The last minute's requests count; Reset is when the oldest one ends.", Anchor::Log(60)),
        window("log-in-slots", "The last minute's requests count, in slots of ten seconds.", Anchor::Log(60))
            .limits(|policy| policy.slot = Some(10)),
        window(
            "log-until-empty",
            "The last minute's requests count; Reset is when all have ended.",
            Anchor::Draining(60),
        ),
        window(
            "log-in-slots-until-empty",
            "The last minute's ten-second slots, from three seconds on, count, until all end.",
            Anchor::Draining(60),
        )
        .limits(|policy| (policy.slot, policy.offset) = (Some(10), 3)),
        window("sliding-counter", "The part of the last window less than a minute ago counts.", Anchor::Sliding),
        window(
            "sliding-counter-next",
            "Like sliding-counter, with the Reset of the next request.",
            Anchor::SlidingNext,
        ),
        window(
            "sliding-counter-next-off-clock",
            "Like sliding-counter-next, 17 s after the clock's minutes.",
            Anchor::SlidingNext,
        )
        .limits(|policy| policy.offset = 17),
        window("clock-minute", "A window is a minute of the clock.", Anchor::Clock),
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
        spares("free", "Requests that fail use nothing up.", failed, false),
        spares("malformed-free", "Malformed requests use nothing up.", malformed, false),
        spares("bad-request-free", "Requests that get 400 use nothing up, unlike other failures.", got_400, false),
        spares("bad-body-free", "Creations that get 400 use nothing up, unlike other failures.", bad_body, false),
        spares("bad-body-given-back", "Creations that get 400 are given back once reported.", bad_body, true),
        spares("unparsed-free", "Bodies that are no JSON use nothing up, unlike other failures.", unparsed, false),
        spares("failed-reads-free", "Reads that fail use nothing up, unlike failed creations.", failed_read, false),
        spares("missing-free", "Requests for an animal that does not exist use nothing up.", missing, false),
        spares("given-back", "Requests that fail are given back after they were reported.", failed, true),
        spares("malformed-given-back", "Malformed requests are given back once reported.", malformed, true),
        spares("missing-given-back", "Requests that find nothing are given back later.", missing, true),
        own("headers.refused-count/429", "refusals-free", "Requests over the limit do not count."),
        other("headers.refused-count/429", "refusals-counted", "Requests over the limit count too.")
            .limits(|policy| policy.counts_refusals = true),
        own("quota.retry-after-form/wait", "waits-until-reset", "Retry-After ends with the window."),
        other("quota.retry-after-form/wait", "waits-longer", "Retry-After ends three seconds after the window.")
            .limits(|policy| policy.extra_wait = 3),
        other("quota.retry-after-form/wait", "rounded-down", "Retry-After ends a second before the window.")
            .limits(|policy| policy.extra_wait = -1),
        own("quota.retry-after-form", "seconds", "Retry-After is a number of seconds."),
        other("quota.retry-after-form", "date", "Retry-After is a date.").answered(429, |_, response, server| {
            response.set_date("retry-after", server.now() + response.number_of("retry-after"));
        }),
        own("quota.body", "error", "A 429 has an Error."),
        other("quota.body", "empty", "A 429 has no body.").answered(429, |_, response, _| response.clear_body()),
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
        by_others("some-others", "Every ninth request, another client sends one too.")
            .limits(|policy| policy.others = Some(9)),
        by_others("many-others", "Every second request, another client sends one too.")
            .limits(|policy| policy.others = Some(2)),
        by_others("others-and-bans", "Another client sends as many requests; bans follow.")
            .limits(|policy| (policy.others, policy.ban, policy.written) = (Some(2), Some(120), Written::Before)),
        by_others("others-in-a-log", "Another client uses the key; a log counts.")
            .limits(|policy| (policy.others, policy.anchor) = (Some(5), Anchor::Log(60))),
        by_others("others-before-a-log", "A log has thirty requests from the minute before the first one.")
            .limits(|policy| (policy.before, policy.anchor) = (30, Anchor::Log(60))),
        by_others("steady-others", "Another client sends a request every 2.5 seconds.")
            .limits(|policy| policy.steady = Some(2_500)),
        by_others("steady-others-in-a-log", "Another client sends one in 2.5 s; a log counts.")
            .limits(|policy| (policy.steady, policy.anchor) = (Some(2_500), Anchor::Log(60))),
        at_time("beginning-of-minute", "The clock starts at the beginning of a minute.", "2026-06-01T12:00:00Z"),
        at_time("end-of-minute", "The clock starts at the end of a minute.", "2026-06-01T12:00:59Z"),
        at_time("end-of-day", "The clock starts at the end of a day.", "2026-06-01T23:59:50Z"),
        at_time("end-of-reported-day", "The clock starts at the end of a day, as reported.", "2026-06-01T23:59:40Z")
            .limits(|policy| policy.reports_day = true),
        at_time("day-of-removal", "The clock starts on 5 December 2030.", "2030-12-05T11:59:45Z"),
        at_time("eve-of-removal", "The clock starts ten seconds before 5 December 2030.", "2030-12-04T23:59:50Z"),
        at_time("end-of-removal", "The clock starts ten seconds before 6 December 2030.", "2030-12-05T23:59:50Z"),
        at_time("long-after-removal", "The clock starts in 2033.", "2033-02-28T23:58:10Z"),
    ]
}
