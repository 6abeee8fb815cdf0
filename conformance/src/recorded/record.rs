//! The recording of a run.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as duration;
use serde::{Deserialize, Serialize};

use super::pseudonyms::without_secrets;
use crate::options::Options;
use crate::redaction;
use crate::report::writer;
use animal_store_rules::trace::{Context, Trace};
use animal_store_traffic::{Head, lines};

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

/// The recording of a run as JSON Lines: its options, and every exchange. It contains no key.
pub fn record(trace: &Trace, options: &Options, ended_early: Option<&str>, took: Option<Duration>) -> String {
    let (trace, mut options) = without_secrets(trace, options);
    options.transport.proxy = options.transport.proxy.as_deref().map(redaction::without_secrets);
    let options = RunOptions { options, ended_early: ended_early.map(str::to_owned), took };
    // Plain data: texts, numbers and lists.
    let options = serde_json::to_value(options).unwrap_or_default();
    let head = Head { options, exchanges: Some(trace.exchanges.len()), ..Head::of(&trace.context, writer()) };
    std::iter::once(lines::head_line(&head)).chain(trace.exchanges.iter().map(lines::line)).collect()
}
