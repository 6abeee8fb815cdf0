//! Another base path, another end of the deprecated operation.

use animal_store_rules::history::Entry;

use super::Breaking;
use crate::tools::{all, created, fetched, json_of, keyed, last, places, refuse, set, set_json};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("versioning.path", "the base address has no version", "odd", |trace| {
        trace.context.base_url = "https://v1.store.example".to_owned();
    }),
    Breaking::new("versioning.lifetime", "the operation is gone too early", "free", |trace| {
        all(trace, fetched, |response| refuse(response, 410));
    })
    .also(&[("get.success", "an existing animal cannot be fetched")]),
    Breaking::new("versioning.lifetime", "the operation is there after its removal", "removed", |trace| {
        let at = places(trace, created)[0];
        let pet = trace.exchanges[at].response().and_then(json_of).expect("an animal");
        let path = format!("/pets/{}", pet["id"]);
        let is_gone = |entry: &Entry<'_>| keyed(entry, 410) && entry.exchange.request.path == path;
        last(trace, is_gone, |response| {
            response.status = 200;
            set_json(response, &pet);
        });
    }),
    Breaking::new("versioning.sunset", "Sunset is no HTTP-date", "pro", |trace| {
        last(trace, fetched, |response| set(response, "sunset", "2030-12-05T00:00:00Z"));
    }),
    Breaking::new("versioning.deprecation-header", "Deprecation says true", "free", |trace| {
        all(trace, fetched, |response| set(response, "deprecation", "true"));
    }),
];
