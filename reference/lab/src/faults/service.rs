//! The service as a whole: it answers, in JSON.

use super::{Fault, fault};
use crate::Delivery;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault(
            "drops-status-less-creations",
            "The connection ends without a response when an animal is created without a status.",
            &["service.complete-answer"],
            "a worker that crashes on an optional member that is not there",
        )
        .after(|request, response, _| {
            if response.status == 201 && request.object().is_some_and(|pet| !pet.contains_key("status")) {
                response.delivery = Delivery::Dropped;
            }
        }),
        fault(
            "drops-large-bodies",
            "The connection ends without a response when a body has more than 64 KiB.",
            &["service.complete-answer"],
            "a proxy that closes the connection where a body exceeds its buffer",
        )
        .after(|request, response, _| {
            if request.body.len() > 64 * 1024 {
                response.delivery = Delivery::Dropped;
            }
        }),
        fault(
            "cuts-long-lists",
            "A list of more than 1,000 bytes breaks off in the middle.",
            &["service.complete-answer"],
            "a proxy whose buffer is smaller than the announced length",
        )
        .after(|_, response, _| {
            if response.status == 200 && response.body.len() > 1_000 {
                response.delivery = Delivery::Cut;
            }
        }),
        fault(
            "one-byte-each",
            "A body whose characters all fit one byte each is written so, and not in UTF-8.",
            &["service.json"],
            "text that is sent as the runtime stores it, in Latin-1 where that is enough",
        )
        .after(|_, response, _| {
            let text = String::from_utf8_lossy(&response.body);
            let narrow: Option<Vec<u8>> = text.chars().map(|char| u8::try_from(char).ok()).collect();
            if let Some(narrow) = narrow.filter(|_| matches!(response.status, 200 | 201)) {
                response.body = narrow;
            }
        }),
        fault(
            "html-label",
            "Successful responses are labelled text/html.",
            &["service.json"],
            "a handler that sends text and leaves the label to the framework",
        )
        .after(|_, response, _| {
            if matches!(response.status, 200 | 201) {
                response.set("content-type", "text/html; charset=utf-8");
            }
        }),
        fault(
            "two-labels",
            "Successful responses are labelled application/json and text/plain.",
            &["service.json"],
            "a framework and a proxy that both add a label",
        )
        .after(|_, response, _| {
            if matches!(response.status, 200 | 201) {
                response.add("content-type", "text/plain");
            }
        }),
        fault(
            "no-label-on-get",
            "A fetched animal has no Content-Type.",
            &["service.json"],
            "cached bytes that are sent without their label",
        )
        .after(|request, response, _| {
            if request.is_get() && response.status == 200 {
                response.remove("content-type");
            }
        }),
        fault(
            "byte-order-mark",
            "Successful responses begin with a byte order mark.",
            &["service.json"],
            "a writer that begins its streams with a byte order mark",
        )
        .after(|_, response, _| {
            if matches!(response.status, 200 | 201) {
                response.body.splice(0..0, *b"\xef\xbb\xbf");
            }
        }),
        fault(
            "single-quotes",
            "Lists have single quotes where JSON has double ones.",
            &["service.json"],
            "a dictionary printed as the language prints it",
        )
        .after(|request, response, _| {
            if request.is_list() && response.status == 200 {
                response.body.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
            }
        }),
        fault(
            "latin-1",
            "Successful responses are encoded in Latin-1.",
            &["service.json"],
            "strings written in the platform's encoding",
        )
        .after(|_, response, _| {
            if matches!(response.status, 200 | 201) {
                let text = String::from_utf8_lossy(&response.body).into_owned();
                response.body = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
            }
        }),
    ]
}
