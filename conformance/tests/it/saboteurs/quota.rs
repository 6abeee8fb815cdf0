//! Exceeding the limit.

use super::create::{keep, show_kept};
use super::{Saboteur, saboteur};
use crate::layers::limiter::{Flaw, flawed};
use crate::layers::{Request, Response, ServerState};

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [counts(), refusals(), ends()].into_iter().flatten().collect()
}

/// A saboteur with a flawed limiter.
fn limited(name: &'static str, targets: &'static [&'static str], flaw: Flaw, like: &'static str) -> Saboteur {
    saboteur(name, targets, like).limiter(flawed(flaw))
}

/// A saboteur whose 429 looks otherwise.
fn refusing(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response, &ServerState) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |_, response, server| {
        if response.status == 429 {
            change(response, server);
        }
    })
}

fn counts() -> Vec<Saboteur> {
    let enforced: &[&str] = &["quota.enforced"];
    let exceeded: &[&str] = &["quota.not-exceeded"];
    let every: &[&str] = &["quota.every-operation"];
    vec![
        limited("never-refuses", enforced, Flaw::NeverRefuses, "headers without a limiter behind them"),
        limited("refuses-with-503", enforced, Flaw::Status(503), "a proxy that limits with the status it comes with"),
        limited("refuses-with-403", enforced, Flaw::Status(403), "a gateway for which an exhausted quota is forbidden"),
        limited("one-late", exceeded, Flaw::OffBy(1), "greater than where it should be at least"),
        limited("ten-late", exceeded, Flaw::OffBy(10), "a burst on top of the limit"),
        limited(
            "per-process",
            &["quota.not-exceeded", "quota.every-operation"],
            Flaw::PerProcess(2),
            "a count in the memory of each of two processes",
        ),
        limited("per-operation", every, Flaw::PerOperation, "a count for each route"),
        limited("writes-are-free", every, Flaw::Exempts(Request::is_create), "a limiter on reads only"),
        limited(
            "orders-are-free",
            every,
            Flaw::Exempts(Request::is_orders),
            "a route that was added beside the limiter",
        ),
        limited("fetches-are-free", every, Flaw::Exempts(Request::is_get), "answers from a cache that nobody counts"),
        limited("races", exceeded, Flaw::Races, "a count that is read, and written when the answer is ready"),
        limited("spares-creations", exceeded, Flaw::Spares(Request::is_create), "writes that are never refused"),
        limited("one-early", &["quota.not-early"], Flaw::OffBy(-1), "at least where it should be greater than"),
        limited("ten-early", &["quota.not-early"], Flaw::OffBy(-10), "some requests kept back for others"),
    ]
}

fn refusals() -> Vec<Saboteur> {
    let target: &[&str] = &["quota.retry-after"];
    vec![
        refusing("no-retry-after", target, "a limiter that does not know the field", |response, _| {
            response.remove("retry-after");
        }),
        refusing("negative-wait", target, "an end that has passed by the time it is written", |response, _| {
            response.set("retry-after", -3);
        }),
        refusing("iso-date", target, "a date as JSON has it", |response, _| {
            response.set("retry-after", "2026-06-01T12:01:00Z");
        }),
        refusing("wait-with-unit", target, "a number with its unit", |response, _| {
            response.set("retry-after", format!("{}s", response.header("retry-after")));
        }),
        refusing("fractional-wait", target, "seconds that were divided", |response, _| {
            response.set("retry-after", format!("{}.5", response.header("retry-after")));
        }),
        refusing("html-429", &["quota.error-body"], "the page of the proxy that limits", |response, _| {
            response.set_body("text/html", "<h1>429 Too Many Requests</h1>");
        }),
        refusing("text-429", &["quota.error-body"], "the sentence that a library comes with", |response, _| {
            response.set_body("text/plain", "Too many requests, please try again later.");
        }),
        saboteur("carried-out", &["quota.refused-stores-nothing"], "a limiter that only replaces the answer")
            .limiter(flawed(Flaw::CarriesOut)),
        saboteur("queued", &["quota.refused-stores-nothing"], "refused creations that are kept for later").after(
            |request, response, server| {
                if request.is_create() && response.status == 429 {
                    keep(request, server);
                }
                show_kept(request, response, server);
            },
        ),
    ]
}

fn ends() -> Vec<Saboteur> {
    let mut half_windows = limited(
        "half-windows",
        &["headers.remaining-never-rises"],
        Flaw::ResetsAfter(30),
        "a count that expires sooner than the window it tells of",
    );
    // Early in a minute, so that half of one passes within it.
    half_windows.setting.start_at = "2026-06-01T12:00:05Z";
    vec![
        limited("never-recovers", &["quota.recovers"], Flaw::NeverResets, "a count that no timer sets back"),
        limited(
            "recovers-late",
            &["quota.recovers"],
            Flaw::RefusesLonger(45),
            "a window that is longer than it is told to be",
        ),
        half_windows,
        limited(
            "forgetful",
            &["headers.remaining-never-rises"],
            Flaw::ForgetsAfter(25),
            "a process that is started anew under load",
        ),
        refusing(
            "told-too-short",
            &["quota.recovers"],
            "a wait of one second and a reset that is now",
            |response, server| {
                response.set("retry-after", 1);
                response.set("x-ratelimit-reset", server.now());
            },
        ),
    ]
}
