//! Choices about limits: where a window begins, what counts, what the headers tell, and what a refusal asks for.

use super::Choice;
use crate::layers::Layer;
use crate::layers::limiter::{Anchor, Failures};

/// What a caller without a valid key is told.
fn anonymous(limit: i64) -> Layer {
    Layer::default().after(move |_, response, server| {
        if response.status == 401 {
            let used = i64::try_from(server.count()).expect("few") % limit;
            response.set("x-ratelimit-limit", limit);
            response.set("x-ratelimit-remaining", limit - 1 - used);
            response.set("x-ratelimit-reset", server.now() + 30);
        }
    })
}

pub(super) const CHOICES: &[Choice] = &[
    Choice {
        axis: "window",
        name: "from the first request",
        make: |b| b.limit(|policy| policy.anchor = Anchor::Request),
    },
    Choice {
        axis: "window",
        name: "a log of the last minute",
        make: |b| b.limit(|policy| policy.anchor = Anchor::Log(60)),
    },
    Choice { axis: "window", name: "a limiter of its own on the clock", make: |b| b.limit(|_| {}) },
    Choice { axis: "headers", name: "tell the day", make: |b| b.limit(|policy| policy.reports_day = true) },
    Choice {
        axis: "remaining",
        name: "told before it is counted",
        make: |b| b.limit(|policy| policy.counts_late = true),
    },
    Choice {
        axis: "failures",
        name: "use nothing up",
        make: |b| b.limit(|policy| policy.failures = Failures::AreFree),
    },
    Choice {
        axis: "failures",
        name: "are given back after they were told",
        make: |b| b.limit(|policy| policy.failures = Failures::AreRefunded),
    },
    Choice {
        axis: "callers",
        name: "are told apart by their address",
        make: |b| b.limit(|policy| policy.by_address = true),
    },
    Choice { axis: "retry", name: "three seconds later", make: |b| b.limit(|policy| policy.extra_wait = 3) },
    Choice { axis: "retry form", name: "a date", make: |b| b.limit(|policy| policy.dates = true) },
    Choice { axis: "refusal", name: "without a body", make: |b| b.limit(|policy| policy.empty = true) },
    Choice {
        axis: "ban",
        name: "for five minutes after a second refusal",
        make: |b| b.limit(|policy| policy.ban = Some(300)),
    },
    Choice {
        axis: "ban",
        name: "for two minutes after a second refusal",
        make: |b| b.limit(|policy| policy.ban = Some(120)),
    },
    Choice {
        axis: "ban",
        name: "for what a run before has done",
        make: |b| b.limit(|policy| policy.banned = Some((1, 75))),
    },
    Choice {
        axis: "ban",
        name: "for what somebody else does meanwhile",
        make: |b| b.limit(|policy| policy.banned = Some((40, 85))),
    },
    Choice {
        axis: "traffic",
        name: "a few other requests with the key",
        make: |b| b.limit(|policy| policy.others = Some(9)),
    },
    Choice {
        axis: "traffic",
        name: "many other requests with the key",
        make: |b| b.limit(|policy| policy.others = Some(2)),
    },
    Choice {
        axis: "traffic",
        name: "so much that a ban meets a burst",
        make: |b| {
            b.limit(|policy| (policy.others, policy.ban, policy.counts_late) = (Some(2), Some(120), true));
        },
    },
    Choice {
        axis: "traffic",
        name: "others in a log of the last minute",
        make: |b| b.limit(|policy| (policy.others, policy.anchor) = (Some(5), Anchor::Log(60))),
    },
    Choice { axis: "anonymous", name: "an allowance that is told", make: |b| b.layer(anonymous(10)) },
    Choice { axis: "anonymous", name: "a large allowance", make: |b| b.layer(anonymous(5_000)) },
    Choice {
        axis: "clock",
        name: "at the beginning of a minute",
        make: |b| b.setting.start_at = "2026-06-01T12:00:00Z",
    },
    Choice { axis: "clock", name: "at the end of a minute", make: |b| b.setting.start_at = "2026-06-01T12:00:59Z" },
    Choice { axis: "clock", name: "at the end of a day", make: |b| b.setting.start_at = "2026-06-01T23:59:50Z" },
    Choice {
        axis: "clock",
        name: "at the end of a day that the headers tell",
        make: |b| {
            b.limit(|policy| policy.reports_day = true);
            b.setting.start_at = "2026-06-01T23:59:40Z";
        },
    },
    Choice { axis: "clock", name: "on the day of the removal", make: |b| b.setting.start_at = "2030-12-05T11:59:45Z" },
    Choice {
        axis: "clock",
        name: "as the day of the removal comes",
        make: |b| b.setting.start_at = "2030-12-04T23:59:50Z",
    },
    Choice {
        axis: "clock",
        name: "as the day of the removal goes",
        make: |b| b.setting.start_at = "2030-12-05T23:59:50Z",
    },
    Choice { axis: "clock", name: "long after the removal", make: |b| b.setting.start_at = "2033-02-28T23:58:10Z" },
];
