//! Versioning.

use super::{Fault, fault};
use crate::{Request, Response};

/// A fault below another path.
fn below(name: &'static str, does: &'static str, base_path: &'static str, like: &'static str) -> Fault {
    let mut fault = fault(name, &["versioning.path"]).does(does).like(like);
    fault.variation.setting.base_path = Some(base_path);
    fault
}

impl Fault {
    /// Changes the responses to fetches.
    fn fetched(self, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, _| {
            if request.is_get() {
                change(response);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    let lifetime: &[&str] = &["versioning.lifetime"];
    let (sunset, deprecation): (&[&str], &[&str]) = (&["versioning.sunset"], &["versioning.deprecation-header"]);
    vec![
        below("second-version", "The API is below /v2.", "/v2", "the next version under the same roof"),
        below("no-version", "The API has no version in its path.", "", "a server that is deployed at the root"),
        fault("gone-early", lifetime)
            .does("GET /pets/{petId} is answered with 410 before its removal.")
            .like("an operation that was removed with its deprecation")
            .turns(200, 410, Request::is_get),
        fault("lingering", lifetime)
            .does("GET /pets/{petId} still answers after its removal; the clock starts in 2031.")
            .like("an operation that nobody removed")
            .start_at("2031-01-15T12:00:45Z")
            .answered(410, |request, response, server| match request.id().and_then(|id| server.pet(id)) {
                Some(pet) => response.become_json(200, pet),
                None => response.refuse(404),
            }),
        fault("another-day", sunset)
            .does("Sunset names another day.")
            .like("a day that was moved and never announced")
            .fetched(|response| response.set("sunset", "Tue, 31 Dec 2030 23:59:59 GMT")),
        fault("iso-sunset", sunset)
            .does("Sunset is an ISO 8601 date.")
            .like("a date as JSON has it")
            .fetched(|response| response.set("sunset", "2030-12-05")),
        fault("deprecation-true", deprecation)
            .does("Deprecation is true.")
            .like("a draft of RFC 9745 that was never updated")
            .fetched(|response| response.set("deprecation", "true")),
        fault("deprecation-date", deprecation)
            .does("Deprecation is an HTTP date.")
            .like("a date of HTTP where a structured field has another")
            .fetched(|response| response.set("deprecation", "Thu, 05 Dec 2030 00:00:00 GMT")),
    ]
}
