//! The options of a run in its recording.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as duration;
use serde::{Deserialize, Serialize};

use crate::options::Options;
use animal_store_rules::trace::Context;

/// The options of a run and its end, in the head of its recording. The context of the trace has the target and pseudonyms as keys.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunOptions {
    pub(super) options: Options,
    /// The reason why the run ended early, if it did.
    pub(super) ended_early: Option<String>,
    /// The duration of the run, if known.
    #[serde(with = "duration")]
    pub(super) took: Option<Duration>,
}

impl RunOptions {
    /// The options with what the context of the trace has, or `None` if the context has no key.
    pub(super) fn restored(mut self, context: &Context) -> Option<RunOptions> {
        let mut keys = context.keys.iter().cloned();
        let options = &mut self.options;
        options.api_key = keys.next()?;
        options.quota_key = keys.next();
        options.transport.base_url.clone_from(&context.base_url);
        options.transport.replicas.clone_from(&context.replicas);
        options.exclusive_key = context.exclusive_key;
        options.category_id = context.vouches_for_category.then_some(context.category_id);
        Some(self)
    }
}
