//! Exceeding the limit.

use super::{Fault, fault};
use crate::Request;
use crate::limiter::Flaw;

pub(super) fn faults() -> Vec<Fault> {
    [counts(), refusals(), ends()].into_iter().flatten().collect()
}

fn counts() -> Vec<Fault> {
    let enforced: &[&str] = &["quota.enforced"];
    let exceeded: &[&str] = &["quota.not-exceeded"];
    let every: &[&str] = &["quota.every-operation"];
    vec![
        fault("never-refuses", enforced)
            .does("Requests over the limit are admitted.")
            .like("headers without a limiter behind them")
            .flaw(Flaw::NeverRefuses),
        fault("refuses-with-503", enforced)
            .does("Requests over the limit are answered with 503.")
            .like("a proxy that limits with the status it comes with")
            .flaw(Flaw::Status(503)),
        fault("refuses-with-403", enforced)
            .does("Requests over the limit are answered with 403.")
            .like("a gateway for which an exhausted quota is forbidden")
            .flaw(Flaw::Status(403)),
        fault("one-late", exceeded)
            .does("One request more than the limit is admitted.")
            .like("greater than where it should be at least")
            .flaw(Flaw::OffBy(1)),
        fault("ten-late", exceeded)
            .does("Ten requests more than the limit are admitted.")
            .like("a burst on top of the limit")
            .flaw(Flaw::OffBy(10)),
        fault("per-process", exceeded)
            .does("Every second request is counted apart.")
            .like("a count in the memory of each of two processes")
            .flaw(Flaw::PerProcess(2)),
        fault("per-operation", exceeded)
            .does("Each operation has the whole limit.")
            .like("a count for each route")
            .flaw(Flaw::PerOperation),
        fault("writes-are-free", every)
            .does("Creations are neither counted nor refused.")
            .like("a limiter on reads only")
            .flaw(Flaw::Exempts(Request::is_create)),
        fault("orders-are-free", every)
            .does("Store orders are neither counted nor refused.")
            .like("a route that was added beside the limiter")
            .flaw(Flaw::Exempts(Request::is_orders)),
        fault("fetches-are-free", every)
            .does("Fetches are neither counted nor refused.")
            .like("answers from a cache that nobody counts")
            .flaw(Flaw::Exempts(Request::is_get)),
        fault("races", exceeded)
            .does("Of requests at the same time, one is counted.")
            .like("a count that is read, and written when the answer is ready")
            .flaw(Flaw::Races),
        fault("spares-creations", exceeded)
            .does("Creations are counted and never refused.")
            .like("writes that are never refused")
            .flaw(Flaw::Spares(Request::is_create)),
        fault("one-early", &["quota.not-early"])
            .does("One request less than the limit is admitted.")
            .like("at least where it should be greater than")
            .flaw(Flaw::OffBy(-1)),
        fault("ten-early", &["quota.not-early"])
            .does("Ten requests less than the limit are admitted.")
            .like("some requests kept back for others")
            .flaw(Flaw::OffBy(-10)),
    ]
}

fn refusals() -> Vec<Fault> {
    let target: &[&str] = &["quota.retry-after"];
    vec![
        fault("no-retry-after", target)
            .does("A 429 has no Retry-After.")
            .like("a limiter that does not know the field")
            .answered(429, |_, response, _| response.remove("retry-after")),
        fault("negative-wait", target)
            .does("Retry-After is negative.")
            .like("an end that has passed by the time it is written")
            .answered(429, |_, response, _| response.set("retry-after", -3)),
        fault("iso-date", target)
            .does("Retry-After is an ISO 8601 date.")
            .like("a date as JSON has it")
            .answered(429, |_, response, _| response.set("retry-after", "2026-06-01T12:01:00Z")),
        fault("wait-with-unit", target).does("Retry-After has a unit.").like("a number with its unit").answered(
            429,
            |_, response, _| {
                response.set("retry-after", format!("{}s", response.header("retry-after")));
            },
        ),
        fault("fractional-wait", target)
            .does("Retry-After has a fraction.")
            .like("seconds that were divided")
            .answered(429, |_, response, _| {
                response.set("retry-after", format!("{}.5", response.header("retry-after")));
            }),
        fault("html-429", &["quota.error-body"])
            .does("A 429 has a page.")
            .like("the page of the proxy that limits")
            .answered(429, |_, response, _| response.set_body("text/html", "<h1>429 Too Many Requests</h1>")),
        fault("text-429", &["quota.error-body"])
            .does("A 429 has text.")
            .like("the sentence that a library comes with")
            .answered(429, |_, response, _| {
                response.set_body("text/plain", "Too many requests, please try again later.");
            }),
        fault("carried-out", &["quota.refused-stores-nothing"])
            .does("A creation that is refused with 429 stores the animal at once.")
            .like("a limiter that only replaces the answer")
            .flaw(Flaw::CarriesOut),
        fault("queued", &["quota.refused-stores-nothing"])
            .does("A creation that is refused with 429 stores the animal afterwards.")
            .like("refused creations that are kept for later")
            .stores_refused(429, |_| true),
    ]
}

fn ends() -> Vec<Fault> {
    vec![
        fault("never-recovers", &["quota.recovers"])
            .does("A key that was refused once is refused for ever.")
            .like("a count that no timer sets back")
            .flaw(Flaw::NeverResets),
        fault("recovers-late", &["quota.recovers"])
            .does("A key is refused for 45 seconds more than the headers say.")
            .like("a window that is longer than it is said to be")
            .flaw(Flaw::RefusesLonger(45)),
        fault("half-windows", &["headers.remaining-never-rises"])
            .does("The count starts again after half a minute, before the Reset.")
            .like("a count that expires sooner than the window it reports")
            // Early in a minute, so that half of one passes within it.
            .start_at("2026-06-01T12:00:05Z")
            .flaw(Flaw::ResetsAfter(30)),
        fault("forgetful", &["headers.remaining-never-rises"])
            .does("The count starts again after every 25 requests.")
            .like("a process that is started anew under load")
            .flaw(Flaw::ForgetsAfter(25)),
        fault("an-hour-too-long", &["quota.recovers"])
            .does("A 429 asks for an hour more than it takes.")
            .like("a wait for the hour of another plan")
            .answered(429, |_, response, _| response.set("retry-after", response.number_of("retry-after") + 3_600)),
        fault("date-of-another-zone", &["quota.recovers"])
            .does("A 429 asks to wait until a date that is an hour ahead.")
            .like("a local time that is written as if it were GMT")
            .answered(429, |_, response, server| {
                let end = server.now() + response.number_of("retry-after") + 3_600;
                response.set(
                    "retry-after",
                    animal_store_reference::clock::http_date(end.unsigned_abs()).to_str().unwrap_or_default(),
                );
            }),
        fault("announced-too-short", &["quota.recovers"])
            .does("A 429 asks for a wait of one second, which is too short.")
            .like("a wait of one second and a reset that is now")
            .answered(429, |_, response, server| {
                response.set("retry-after", 1);
                response.set("x-ratelimit-reset", server.now());
            }),
    ]
}
