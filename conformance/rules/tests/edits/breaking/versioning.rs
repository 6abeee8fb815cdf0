//! Another base path, another end of the deprecated operation.

use serde_json::json;

use super::Breaking;
use crate::tools::{all, created, fetched, json_of, keyed, last, places, refuse, set, set_json, settle};

pub(super) const EDITS: &[Breaking] = &[
    Breaking {
        rule: "versioning.path",
        name: "the base address has another version",
        trace: "free",
        also: &[],
        apply: |trace| trace.context.base_url = "http://127.0.0.1:8080/v2".to_owned(),
    },
    Breaking {
        rule: "versioning.path",
        name: "the base address has no version",
        trace: "odd",
        also: &[],
        apply: |trace| trace.context.base_url = "https://v1.store.example".to_owned(),
    },
    Breaking {
        rule: "versioning.lifetime",
        name: "the operation is gone too early",
        trace: "free",
        also: &[("get.success", "an existing animal cannot be fetched")],
        apply: |trace| all(trace, fetched, |response| refuse(response, 410)),
    },
    Breaking {
        rule: "versioning.lifetime",
        name: "the operation is gone too early, and nothing is found",
        trace: "pro",
        also: &[("get.success", "an existing animal cannot be fetched")],
        apply: |trace| {
            settle(trace);
            all(trace, fetched, |response| refuse(response, 404));
        },
    },
    Breaking {
        rule: "versioning.lifetime",
        name: "the operation is there after its removal",
        trace: "removed",
        also: &[],
        apply: |trace| {
            let at = places(trace, created)[0];
            let pet = trace.exchanges[at].response().and_then(json_of).expect("an animal");
            let path = format!("/pets/{}", pet["id"]);
            last(
                trace,
                |entry| keyed(entry, 410) && entry.exchange.request.path == path,
                |response| {
                    response.status = 200;
                    set_json(response, &pet);
                },
            );
        },
    },
    Breaking {
        rule: "versioning.lifetime",
        name: "after its removal the operation answers for nobody",
        trace: "removed",
        also: &[
            ("get.not-found", "that id belongs to nobody"),
            ("pet.members", "an object without members is no animal"),
        ],
        apply: |trace| {
            last(
                trace,
                |entry| keyed(entry, 410) && entry.exchange.request.path == "/pets/0",
                |response| {
                    response.status = 200;
                    set_json(response, &json!({}));
                },
            );
        },
    },
    Breaking {
        rule: "versioning.sunset",
        name: "Sunset names another day",
        trace: "free",
        also: &[],
        apply: |trace| all(trace, fetched, |response| set(response, "sunset", "Wed, 31 Dec 2031 23:59:59 GMT")),
    },
    Breaking {
        rule: "versioning.sunset",
        name: "Sunset is no HTTP-date",
        trace: "pro",
        also: &[],
        apply: |trace| last(trace, fetched, |response| set(response, "sunset", "2030-12-05T00:00:00Z")),
    },
    Breaking {
        rule: "versioning.deprecation-header",
        name: "Deprecation says true",
        trace: "free",
        also: &[],
        apply: |trace| all(trace, fetched, |response| set(response, "deprecation", "true")),
    },
    Breaking {
        rule: "versioning.deprecation-header",
        name: "Deprecation is a Unix time without its mark",
        trace: "odd",
        also: &[],
        apply: |trace| last(trace, fetched, |response| set(response, "deprecation", "1893456000")),
    },
];
