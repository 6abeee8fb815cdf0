//! Versioning.

use super::{Fault, fault};
use crate::Response;

/// A fault below another path.
fn below(name: &'static str, does: &'static str, base_path: &'static str, like: &'static str) -> Fault {
    let mut fault = fault(name, does, &["versioning.path"], like);
    fault.variation.setting.base_path = Some(base_path);
    fault
}

/// A fault that announces the removal in its own way.
fn announcing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&mut Response) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |request, response, _| {
        if request.is_get() {
            change(response);
        }
    })
}

pub(super) fn faults() -> Vec<Fault> {
    let lifetime: &[&str] = &["versioning.lifetime"];
    let (sunset, deprecation): (&[&str], &[&str]) = (&["versioning.sunset"], &["versioning.deprecation-header"]);
    let mut lingering = fault(
        "lingering",
        "GET /pets/{petId} still answers after its removal; the clock starts in 2031.",
        lifetime,
        "an operation that nobody removed",
    )
    .after(|request, response, server| {
        if request.is_get() && response.status == 410 {
            let memory = server.memory();
            match memory.pets.iter().map(|(pet, _)| pet).find(|pet| request.id().is_some_and(|id| pet["id"] == id)) {
                Some(pet) => response.become_json(200, pet.clone()),
                None => response.refuse(404),
            }
        }
    });
    lingering.variation.setting.start_at = Some("2031-01-15T12:00:45Z");
    vec![
        below("second-version", "The API is below /v2.", "/v2", "the next version under the same roof"),
        below("no-version", "The API has no version in its path.", "", "a server that is deployed at the root"),
        announcing(
            "gone-early",
            "GET /pets/{petId} is answered with 410 before its removal.",
            lifetime,
            "an operation that was removed with its deprecation",
            |response| {
                if response.status == 200 {
                    response.refuse(410);
                }
            },
        ),
        lingering,
        announcing(
            "another-day",
            "Sunset names another day.",
            sunset,
            "a day that was moved and never announced",
            |response| {
                response.set("sunset", "Tue, 31 Dec 2030 23:59:59 GMT");
            },
        ),
        announcing("iso-sunset", "Sunset is an ISO 8601 date.", sunset, "a date as JSON has it", |response| {
            response.set("sunset", "2030-12-05");
        }),
        announcing(
            "deprecation-true",
            "Deprecation is true.",
            deprecation,
            "a draft of RFC 9745 that was never updated",
            |response| {
                response.set("deprecation", "true");
            },
        ),
        announcing(
            "deprecation-date",
            "Deprecation is an HTTP date.",
            deprecation,
            "a date of HTTP where a structured field has another",
            |response| {
                response.set("deprecation", "Thu, 05 Dec 2030 00:00:00 GMT");
            },
        ),
    ]
}
