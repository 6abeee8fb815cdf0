//! Responses that do not end, and successes that are not JSON.

use super::Breaking;
use crate::tools::{last, listed, listed_by};

pub(super) const EDITS: &[Breaking] = &[
    Breaking::new("service.complete-answer", "a list goes on for ever", "pro", |trace| {
        last(trace, listed, |response| {
            response.cut = true;
            response.headers.retain(|(name, _)| name != "content-length");
        });
    }),
    Breaking::new("service.json", "an empty result is an empty body", "odd", |trace| {
        last(trace, listed_by("status=lost"), |response| response.body.clear());
    }),
];
