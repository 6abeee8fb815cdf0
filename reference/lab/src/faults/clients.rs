//! Header fields that cannot change a lawful response, such as the languages that a client accepts.

use super::{Builds, Fault, change, fault};

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("headers.limit.lost-with-gzip", "Responses to clients that accept gzip have no rate-limit fields.")
            .also(&["headers.remaining", "headers.reset"])
            .outside(|request, response, _| {
                if request.header("accept-encoding").contains("gzip") {
                    response.remove_limits();
                }
            }),
        fault("pet.status-values.translated", "Clients that accept German get the status in German.").shows_in(
            |request| request.header("accept-language").starts_with("de"),
            |pet| {
                change(pet, "status", |status| {
                    let german = match status.as_str()? {
                        "available" => "verfügbar",
                        "pending" => "reserviert",
                        _ => "verkauft",
                    };
                    Some(german.into())
                });
            },
        ),
        fault("list.success.one-media-type", "A list is refused with 406 if the client accepts several media types.")
            .answered(200, |request, response, _| {
                if request.is_list() && request.header("accept").contains(',') {
                    response.refuse(406);
                }
            }),
    ]
}
