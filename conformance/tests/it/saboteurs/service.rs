//! What the service does: it answers, in JSON.

use super::{Saboteur, saboteur};
use crate::layers::Delivery;

pub(super) fn saboteurs() -> Vec<Saboteur> {
    vec![
        saboteur(
            "drops-status-less-creations",
            &["service.complete-answer"],
            "a worker that crashes on an optional member that is not there",
        )
        .after(|ask, answer, _| {
            if answer.status == 201 && ask.object().is_some_and(|pet| !pet.contains_key("status")) {
                answer.delivery = Delivery::Dropped;
            }
        }),
        saboteur(
            "cuts-long-lists",
            &["service.complete-answer"],
            "a proxy whose buffer is smaller than the announced length",
        )
        .after(|_, answer, _| {
            if answer.status == 200 && answer.body.len() > 1_000 {
                answer.delivery = Delivery::Cut;
            }
        }),
        saboteur("html-label", &["service.json"], "a handler that sends text and leaves the label to the framework")
            .after(|_, answer, _| {
                if matches!(answer.status, 200 | 201) {
                    answer.set("content-type", "text/html; charset=utf-8");
                }
            }),
        saboteur("no-label-on-get", &["service.json"], "cached bytes that are sent without their label").after(
            |ask, answer, _| {
                if ask.is_get() && answer.status == 200 {
                    answer.remove("content-type");
                }
            },
        ),
        saboteur("byte-order-mark", &["service.json"], "a writer that begins its streams with a byte order mark")
            .after(|_, answer, _| {
                if matches!(answer.status, 200 | 201) {
                    answer.body.splice(0..0, *b"\xef\xbb\xbf");
                }
            }),
        saboteur("single-quotes", &["service.json"], "a dictionary printed as the language prints it").after(
            |ask, answer, _| {
                if ask.is_list() && answer.status == 200 {
                    answer.body.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
                }
            },
        ),
        saboteur("latin-1", &["service.json"], "strings written in the platform's encoding").after(|_, answer, _| {
            if matches!(answer.status, 200 | 201) {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                answer.body = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
            }
        }),
    ]
}
