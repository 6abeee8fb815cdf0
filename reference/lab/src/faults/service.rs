//! The service as a whole: it answers, in JSON.

use super::{Fault, fault};
use crate::{Delivery, Response};

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
        fault("drops-status-less-creations", &["service.complete-answer"])
            .does("The connection ends without a response when an animal is created without a status.")
            .like("a worker that crashes on an optional member that is not there")
            .after(|request, response, _| {
                if response.status == 201 && request.object().is_some_and(|pet| !pet.contains_key("status")) {
                    response.delivery = Delivery::Dropped;
                }
            }),
        fault("drops-large-bodies", &["service.complete-answer"])
            .does("The connection ends without a response when a body has more than 64 KiB.")
            .like("a proxy that closes the connection where a body exceeds its buffer")
            .after(|request, response, _| {
                if request.body.len() > 64 * 1024 {
                    response.delivery = Delivery::Dropped;
                }
            }),
        fault("cuts-long-lists", &["service.complete-answer"])
            .does("A list of more than 1,000 bytes breaks off in the middle.")
            .like("a proxy whose buffer is smaller than the announced length")
            .after(|_, response, _| {
                if response.status == 200 && response.body.len() > 1_000 {
                    response.delivery = Delivery::Cut;
                }
            }),
        fault("one-byte-each", &["service.json"])
            .does("A body whose characters all fit one byte each is written so, and not in UTF-8.")
            .like("text that is sent as the runtime stores it, in Latin-1 where that is enough")
            .succeeds(|response| {
                let text = String::from_utf8_lossy(&response.body);
                if let Some(narrow) = text.chars().map(|char| u8::try_from(char).ok()).collect() {
                    response.body = narrow;
                }
            }),
        fault("html-label", &["service.json"])
            .does("Successful responses are labelled text/html.")
            .like("a handler that sends text and leaves the label to the framework")
            .succeeds(|response| response.set("content-type", "text/html; charset=utf-8")),
        fault("two-labels", &["service.json"])
            .does("Successful responses are labelled application/json and text/plain.")
            .like("a framework and a proxy that both add a label")
            .succeeds(|response| response.add("content-type", "text/plain")),
        fault("no-label-on-get", &["service.json"])
            .does("A fetched animal has no Content-Type.")
            .like("cached bytes that are sent without their label")
            .answered(200, |request, response, _| {
                if request.is_get() {
                    response.remove("content-type");
                }
            }),
        fault("byte-order-mark", &["service.json"])
            .does("Successful responses begin with a byte order mark.")
            .like("a writer that begins its streams with a byte order mark")
            .succeeds(|response| drop(response.body.splice(0..0, *b"\xef\xbb\xbf"))),
        fault("single-quotes", &["service.json"])
            .does("Lists have single quotes where JSON has double ones.")
            .like("a dictionary printed as the language prints it")
            .after(|request, response, _| {
                if request.is_list() && response.status == 200 {
                    response.body.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
                }
            }),
        fault("latin-1", &["service.json"])
            .does("Successful responses are encoded in Latin-1.")
            .like("strings written in the platform's encoding")
            .succeeds(|response| {
                let text = String::from_utf8_lossy(&response.body);
                response.body = text.chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
            }),
    ]
}
