//! Exceeding the limit.

use super::create::{keep, show_kept};
use super::{Fault, fault};
use crate::limiter::{Flaw, flawed};
use crate::{Request, Response, ServerState};

pub(super) fn faults() -> Vec<Fault> {
    [counts(), refusals(), ends()].into_iter().flatten().collect()
}

/// A fault with a flawed limiter.
fn limited(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    flaw: Flaw,
    like: &'static str,
) -> Fault {
    fault(name, does, targets, like).limiter(flawed(flaw))
}

/// A fault whose 429 looks otherwise.
fn refusing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response, &ServerState) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |_, response, server| {
        if response.status == 429 {
            change(response, server);
        }
    })
}

fn counts() -> Vec<Fault> {
    let enforced: &[&str] = &["quota.enforced"];
    let exceeded: &[&str] = &["quota.not-exceeded"];
    let every: &[&str] = &["quota.every-operation"];
    vec![
        limited(
            "never-refuses",
            "Requests over the limit are admitted.",
            enforced,
            Flaw::NeverRefuses,
            "headers without a limiter behind them",
        ),
        limited(
            "refuses-with-503",
            "Requests over the limit are answered with 503.",
            enforced,
            Flaw::Status(503),
            "a proxy that limits with the status it comes with",
        ),
        limited(
            "refuses-with-403",
            "Requests over the limit are answered with 403.",
            enforced,
            Flaw::Status(403),
            "a gateway for which an exhausted quota is forbidden",
        ),
        limited(
            "one-late",
            "One request more than the limit is admitted.",
            exceeded,
            Flaw::OffBy(1),
            "greater than where it should be at least",
        ),
        limited(
            "ten-late",
            "Ten requests more than the limit are admitted.",
            exceeded,
            Flaw::OffBy(10),
            "a burst on top of the limit",
        ),
        limited(
            "per-process",
            "Every second request is counted apart.",
            exceeded,
            Flaw::PerProcess(2),
            "a count in the memory of each of two processes",
        ),
        limited(
            "per-operation",
            "Each operation has the whole limit.",
            exceeded,
            Flaw::PerOperation,
            "a count for each route",
        ),
        limited(
            "writes-are-free",
            "Creations are neither counted nor refused.",
            every,
            Flaw::Exempts(Request::is_create),
            "a limiter on reads only",
        ),
        limited(
            "orders-are-free",
            "Store orders are neither counted nor refused.",
            every,
            Flaw::Exempts(Request::is_orders),
            "a route that was added beside the limiter",
        ),
        limited(
            "fetches-are-free",
            "Fetches are neither counted nor refused.",
            every,
            Flaw::Exempts(Request::is_get),
            "answers from a cache that nobody counts",
        ),
        limited(
            "races",
            "Of requests at the same time, one is counted.",
            exceeded,
            Flaw::Races,
            "a count that is read, and written when the answer is ready",
        ),
        limited(
            "spares-creations",
            "Creations are counted and never refused.",
            exceeded,
            Flaw::Spares(Request::is_create),
            "writes that are never refused",
        ),
        limited(
            "one-early",
            "One request less than the limit is admitted.",
            &["quota.not-early"],
            Flaw::OffBy(-1),
            "at least where it should be greater than",
        ),
        limited(
            "ten-early",
            "Ten requests less than the limit are admitted.",
            &["quota.not-early"],
            Flaw::OffBy(-10),
            "some requests kept back for others",
        ),
    ]
}

fn refusals() -> Vec<Fault> {
    let target: &[&str] = &["quota.retry-after"];
    vec![
        refusing(
            "no-retry-after",
            "A 429 has no Retry-After.",
            target,
            "a limiter that does not know the field",
            |response, _| {
                response.remove("retry-after");
            },
        ),
        refusing(
            "negative-wait",
            "Retry-After is negative.",
            target,
            "an end that has passed by the time it is written",
            |response, _| {
                response.set("retry-after", -3);
            },
        ),
        refusing("iso-date", "Retry-After is an ISO 8601 date.", target, "a date as JSON has it", |response, _| {
            response.set("retry-after", "2026-06-01T12:01:00Z");
        }),
        refusing("wait-with-unit", "Retry-After has a unit.", target, "a number with its unit", |response, _| {
            response.set("retry-after", format!("{}s", response.header("retry-after")));
        }),
        refusing(
            "fractional-wait",
            "Retry-After has a fraction.",
            target,
            "seconds that were divided",
            |response, _| {
                response.set("retry-after", format!("{}.5", response.header("retry-after")));
            },
        ),
        refusing(
            "html-429",
            "A 429 has a page.",
            &["quota.error-body"],
            "the page of the proxy that limits",
            |response, _| {
                response.set_body("text/html", "<h1>429 Too Many Requests</h1>");
            },
        ),
        refusing(
            "text-429",
            "A 429 has text.",
            &["quota.error-body"],
            "the sentence that a library comes with",
            |response, _| {
                response.set_body("text/plain", "Too many requests, please try again later.");
            },
        ),
        fault(
            "carried-out",
            "A creation that is refused with 429 stores the animal at once.",
            &["quota.refused-stores-nothing"],
            "a limiter that only replaces the answer",
        )
        .limiter(flawed(Flaw::CarriesOut)),
        fault(
            "queued",
            "A creation that is refused with 429 stores the animal afterwards.",
            &["quota.refused-stores-nothing"],
            "refused creations that are kept for later",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 429 {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
    ]
}

fn ends() -> Vec<Fault> {
    let mut half_windows = limited(
        "half-windows",
        "The count starts again after half a minute, before the Reset.",
        &["headers.remaining-never-rises"],
        Flaw::ResetsAfter(30),
        "a count that expires sooner than the window it reports",
    );
    // Early in a minute, so that half of one passes within it.
    half_windows.variation.setting.start_at = Some("2026-06-01T12:00:05Z");
    vec![
        limited(
            "never-recovers",
            "A key that was refused once is refused for ever.",
            &["quota.recovers"],
            Flaw::NeverResets,
            "a count that no timer sets back",
        ),
        limited(
            "recovers-late",
            "A key is refused for 45 seconds more than the headers say.",
            &["quota.recovers"],
            Flaw::RefusesLonger(45),
            "a window that is longer than it is said to be",
        ),
        half_windows,
        limited(
            "forgetful",
            "The count starts again after every 25 requests.",
            &["headers.remaining-never-rises"],
            Flaw::ForgetsAfter(25),
            "a process that is started anew under load",
        ),
        refusing(
            "an-hour-too-long",
            "A 429 asks for an hour more than it takes.",
            &["quota.recovers"],
            "a wait for the hour of another plan",
            |response, _| response.set("retry-after", response.number_of("retry-after") + 3_600),
        ),
        refusing(
            "date-of-another-zone",
            "A 429 asks to wait until a date that is an hour ahead.",
            &["quota.recovers"],
            "a local time that is written as if it were GMT",
            |response, server| {
                let end = server.now() + response.number_of("retry-after") + 3_600;
                response.set(
                    "retry-after",
                    animal_store_reference::clock::http_date(end.unsigned_abs()).to_str().unwrap_or_default(),
                );
            },
        ),
        refusing(
            "announced-too-short",
            "A 429 asks for a wait of one second, which is too short.",
            &["quota.recovers"],
            "a wait of one second and a reset that is now",
            |response, server| {
                response.set("retry-after", 1);
                response.set("x-ratelimit-reset", server.now());
            },
        ),
    ]
}
