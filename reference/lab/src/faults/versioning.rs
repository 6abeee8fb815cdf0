//! Versioning.

use super::{Builds, Fault, fault, of};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("versioning.path.second-version", "The API is below /v2.")
            .sets(|setting| setting.base_path = Some("/v2")),
        fault("versioning.path.no-version", "The API has no version in its path.")
            .sets(|setting| setting.base_path = Some("")),
        fault("versioning.lifetime.gone-early", "GET /pets/{petId} gets 410 early.").turns([200, 410], Request::is_get),
        fault("versioning.lifetime.lingering", "GET /pets/{petId} answers after its removal, in 2031.")
            .sets(|setting| setting.start_at = Some("2031-01-15T12:00:45Z"))
            .answered(410, |request, response, server| match request.id().and_then(|id| server.pet(id)) {
                Some(pet) => response.become_json(200, pet),
                None => response.refuse(404),
            }),
        fault("versioning.sunset.another-day", "Sunset names another day.")
            .sends(of(Request::is_get), |response| response.set("sunset", "Tue, 31 Dec 2030 23:59:59 GMT")),
        fault("versioning.sunset.iso-sunset", "Sunset is an ISO 8601 date.")
            .sends(of(Request::is_get), |response| response.set("sunset", "2030-12-05")),
        fault("versioning.deprecation-header.deprecation-true", "Deprecation is true.")
            .sends(of(Request::is_get), |response| response.set("deprecation", "true")),
        fault("versioning.deprecation-header.deprecation-date", "Deprecation is an HTTP date.")
            .sends(of(Request::is_get), |response| response.set("deprecation", "Thu, 05 Dec 2030 00:00:00 GMT")),
    ]
}
