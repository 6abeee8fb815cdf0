//! Exceeding the limit.

use std::collections::HashSet;

use super::{Builds, Fault, Flaw, fault};
use crate::Request;
use crate::request::ConnectionNumber;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Counts.
        fault("quota.enforced.never-refuses", "Requests over the limit are admitted.").flaw(Flaw::NeverRefuses),
        fault("quota.enforced.refuses-with-503", "Requests over the limit get 503.").flaw(Flaw::Status(503)),
        fault("quota.enforced.refuses-with-403", "Requests over the limit get 403.").flaw(Flaw::Status(403)),
        fault("quota.not-exceeded.one-late", "One request more than the limit is admitted.").flaw(Flaw::OffBy(1)),
        fault("quota.not-exceeded.ten-late", "Ten requests more than the limit are admitted.").flaw(Flaw::OffBy(10)),
        fault("quota.not-exceeded.per-process", "Every second request is counted apart.")
            .flaw(Flaw::Apart(|request| request.number % 2)),
        fault("quota.not-exceeded.per-operation", "Each operation has the whole limit.")
            .flaw(Flaw::Apart(|request| u64::from(request.is_list()) + 2 * u64::from(request.is_create()))),
        fault("quota.not-exceeded.per-forwarded-address", "Each address in X-Forwarded-For has the whole limit.")
            .flaw(Flaw::Apart(|request| u64::from(!request.header("x-forwarded-for").is_empty()))),
        fault("quota.every-operation.writes-are-free", "Creations are neither counted nor refused.")
            .flaw(Flaw::Exempts(Request::is_create)),
        fault("quota.every-operation.orders-are-free", "Store orders are neither counted nor refused.")
            .flaw(Flaw::Exempts(Request::is_orders)),
        fault("quota.every-operation.fetches-are-free", "Fetches are neither counted nor refused.")
            .flaw(Flaw::Exempts(Request::is_get)),
        fault("quota.not-exceeded.races", "Of requests at the same time, one is counted.").flaw(Flaw::Races),
        fault("quota.every-operation.races-at-the-begin", "Of concurrent requests as a window begins, one counts.")
            .flaw(Flaw::RacesAtTheBegin),
        fault("headers.remaining-never-rises.per-spelling", "Another spelling of the scheme Bearer has another limit.")
            .flaw(Flaw::Apart(|request| u64::from(request.token().is_none()))),
        fault("quota.not-exceeded.admits-every-five-seconds", "Over the limit, one request in five seconds passes.")
            .flaw(Flaw::AdmitsEvery(5)),
        fault("quota.not-exceeded.spares-the-first-window", "Nothing is refused in the first window of a key.")
            // Early in a minute, so that a run exhausts the window in which it begins.
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:05Z"))
            .flaw(Flaw::SparesTheFirstWindow),
        fault("quota.not-exceeded.forgives-the-last", "A failed request that leaves nothing resets the count.")
            .flaw(Flaw::ForgivesTheLast),
        fault("quota.not-exceeded.spares-creations", "Creations are counted and never refused.")
            .flaw(Flaw::Spares(Request::is_create)),
        fault("quota.not-early.one-early", "One request less than the limit is admitted.").flaw(Flaw::OffBy(-1)),
        fault("quota.not-early.ten-early", "Ten requests less than the limit are admitted.").flaw(Flaw::OffBy(-10)),
        // Refusals.
        fault("quota.retry-after.no-retry-after", "A 429 has no Retry-After.")
            .answered(429, |_, response, _| response.remove("retry-after")),
        fault("quota.retry-after.empty", "The Retry-After of a 429 is empty.")
            .answered(429, |_, response, _| response.set("retry-after", "")),
        fault("quota.retry-after.no-retry-after-for-creations", "A 429 to a creation has no Retry-After.").alters(
            429,
            Request::is_create,
            |response| response.remove("retry-after"),
        ),
        fault("quota.retry-after-syntax.negative-wait", "Retry-After is negative.")
            .answered(429, |_, response, _| response.set("retry-after", -3)),
        fault("quota.retry-after-syntax.iso-date", "Retry-After is an ISO 8601 date.")
            .answered(429, |_, response, _| response.set("retry-after", "2026-06-01T12:01:00Z")),
        fault("quota.retry-after-syntax.wait-with-unit", "Retry-After has a unit.").answered(429, |_, response, _| {
            response.set("retry-after", format!("{}s", response.header("retry-after")));
        }),
        fault("quota.retry-after-syntax.fractional-wait", "Retry-After has a fraction.").answered(
            429,
            |_, response, _| {
                response.set("retry-after", format!("{}.5", response.header("retry-after")));
            },
        ),
        fault("quota.error-body.html-429", "A 429 has a page.")
            .answered(429, |_, response, _| response.set_body("text/html", "<h1>429 Too Many Requests</h1>")),
        fault("quota.error-body.text-429", "A 429 has text.").answered(429, |_, response, _| {
            response.set_body("text/plain", "Too many requests, please try again later.");
        }),
        fault("quota.refused-stores-nothing.carried-out", "A creation refused with 429 stores the animal at once.")
            .flaw(Flaw::CarriesOut),
        fault("quota.refused-stores-nothing.queued", "A creation refused with 429 stores the animal afterwards.")
            .stores_refused(429, |_| true),
        // Ends of windows.
        fault("quota.recovers.never-recovers", "A key that was refused once is refused for ever.")
            .flaw(Flaw::NeverResets),
        fault("quota.recovers.recovers-late", "A key is refused for 45 seconds more than the headers say.")
            .flaw(Flaw::RefusesLonger(45)),
        fault("quota.not-early.fetches-recover-late", "For five seconds after a window with a 429, fetches get 429.")
            .outside(|request, response, server| {
                let (minute, second) = (server.now().div_euclid(60), server.now().rem_euclid(60));
                server.own(|refused_in: &mut i64| {
                    if response.status == 429 {
                        *refused_in = minute;
                    } else if *refused_in + 1 == minute && second < 5 && request.is_get() {
                        response.refuse(429);
                        response.set("retry-after", 1);
                    }
                });
            }),
        fault("quota.recovers.stays-with-the-connection", "A connection that has seen a 429 gets nothing else.")
            .outside(|request, response, server| {
                server.own(|refused: &mut HashSet<ConnectionNumber>| {
                    if response.status == 429 {
                        refused.insert(request.connection);
                    } else if refused.contains(&request.connection) && server.key_of(request).is_some() {
                        response.refuse(429);
                        response.set("retry-after", 1);
                    }
                });
            }),
        fault("headers.remaining-never-rises.half-windows", "The count starts again half a minute before Reset.")
            // Early in a minute, so that half of one passes within it.
            .sets(|setting| setting.start_at = Some("2026-06-01T12:00:05Z"))
            .flaw(Flaw::ResetsAfter(30)),
        fault("headers.remaining-never-rises.forgetful", "The count starts again after every 25 requests.")
            .flaw(Flaw::ForgetsAfter(25)),
        fault("quota.retry-after-suffices.no-wait", "A 429 asks for no wait.")
            .answered(429, |_, response, _| response.set("retry-after", 0)),
        fault("quota.retry-after-suffices.half-a-wait", "A 429 asks for half of the wait that is left.")
            .answered(429, |_, response, _| response.set("retry-after", response.number_of("retry-after") / 2)),
        fault(
            "quota.retry-after-suffices.date-that-has-passed",
            "A 429 asks to wait until a date that is an hour ago.",
        )
        .answered(429, |_, response, server| {
            let begin = animal_store_reference::respond::http_date((server.now() - 3_600).unsigned_abs());
            response.set("retry-after", begin.to_str().unwrap_or_default());
        }),
        fault("quota.recovers.three-seconds-late", "A key is refused for three seconds more than the headers say.")
            .flaw(Flaw::RefusesLonger(3)),
        fault("quota.recovers.announced-too-short", "A 429 asks for a wait of one second, which is too short.")
            .answered(429, |_, response, server| {
                response.set("retry-after", 1);
                response.set("x-ratelimit-reset", server.now());
            }),
    ]
}
