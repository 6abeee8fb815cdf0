//! The service as a whole: it answers, in JSON.

use super::{Builds, Fault, fault};
use crate::{Delivery, Request, Response};

impl Fault {
    /// Changes the responses of success.
    fn succeeds(self, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Fault {
        self.after(move |_, response, _| {
            if matches!(response.status, 200 | 201) {
                change(response);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("service.complete-answer.drops-status-less-creations", "A creation without a status is dropped.").after(
            |request, response, _| {
                if response.status == 201 && request.object().is_some_and(|pet| !pet.contains_key("status")) {
                    response.delivery = Delivery::Dropped;
                }
            },
        ),
        fault("service.complete-answer.drops-large-bodies", "A body over 64 KiB ends the connection with no response.")
            .after(|request, response, _| {
                if request.body.len() > 64 * 1024 {
                    response.delivery = Delivery::Dropped;
                }
            }),
        fault("service.complete-answer.cuts-long-lists", "A list of more than 1,000 bytes breaks off in the middle.")
            .after(|_, response, _| {
                if response.status == 200 && response.body.len() > 1_000 {
                    response.delivery = Delivery::Cut;
                }
            }),
        fault("service.json.one-byte-each", "A body whose characters all fit one byte each is written in Latin-1.")
            .succeeds(|response| {
                let text = String::from_utf8_lossy(&response.body);
                if let Some(narrow) = text.chars().map(|char| u8::try_from(char).ok()).collect() {
                    response.body = narrow;
                }
            }),
        fault("service.json.html-label", "Successful responses are labelled text/html.")
            .succeeds(|response| response.set("content-type", "text/html; charset=utf-8")),
        fault("service.json.two-labels", "Successful responses are labelled application/json and text/plain.")
            .succeeds(|response| response.add("content-type", "text/plain")),
        fault("service.json.no-label-on-get", "A fetched animal has no Content-Type.").alters(
            200,
            Request::is_get,
            |response| response.remove("content-type"),
        ),
        fault("service.json.byte-order-mark", "Successful responses begin with a byte order mark.")
            .succeeds(|response| drop(response.body.splice(0..0, *b"\xef\xbb\xbf"))),
        fault("service.json.single-quotes", "Lists have single quotes where JSON has double ones.").alters(
            200,
            Request::is_list,
            |response| {
                response.body.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
            },
        ),
        fault("service.json.latin-1", "Successful responses are encoded in Latin-1.").succeeds(|response| {
            let text = String::from_utf8_lossy(&response.body);
            response.body = text.chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
        }),
    ]
}
