//! The parts of one recording: each is judged by itself, so that a recording of any length takes bounded memory.

use std::time::Duration;

use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::recording::{Head, Unreadable, har};
use animal_store_rules::trace::{Context, Trace};

use super::options::{RunOptions, side_of};
use super::recorded_judge::RecordedJudge;
use super::terms::Terms;
use super::totals::size;
use super::unusable::Unusable;
use crate::options::Options;
use crate::report::Report;
use crate::run::judge::conclude_run;

/// The amount of a recording that is judged at once, in bytes of memory as [`weight`] counts them. A longer recording is divided into
/// parts, and each part is judged as a sample. A run of up to 512 MiB is judged as a whole.
pub const PART: usize = 16 * 1024 * 1024;

/// The number of exchanges of a sample that are judged at once: the time that rules take grows faster than this number.
pub const PART_EXCHANGES: usize = 1_000;

/// The longest part of a proxy's recording, in multiples of [`PART`] and [`PART_EXCHANGES`]: it ends where no request is pending.
pub const LONGEST_PART: usize = 4;

/// The maximum size of a recorded run that is judged as a whole, in bytes as [`weight`] counts them.
const WHOLE_RUN: usize = 512 * 1024 * 1024;

/// The parts of one recording.
pub(super) struct Parts<'c> {
    pub(super) recorded: &'c mut RecordedJudge,
    pending: Vec<Exchange>,
    bytes: usize,
    /// The number of exchanges that were taken.
    pub(super) taken: usize,
    /// Whether a part was judged before the end of the recording.
    pub(super) is_divided: bool,
    /// Whether another program wrote the recording.
    is_foreign: bool,
    /// The extent of the present part, if the recording states it.
    extent: Option<Extent>,
}

impl<'c> Parts<'c> {
    pub(super) fn new(recorded: &'c mut RecordedJudge) -> Parts<'c> {
        Parts { recorded, pending: Vec::new(), bytes: 0, taken: 0, is_divided: false, is_foreign: false, extent: None }
    }

    /// Returns true unless the recording has fewer exchanges than its head states.
    ///
    /// # Errors
    ///
    /// [`Unreadable::Mixed`], if there are more: the file was put together from several.
    pub(super) fn are_all_there(&self, head: &Head) -> Result<bool, Unreadable> {
        match head.exchanges {
            Some(written) if self.taken > written => Err(Unreadable::Mixed { written, found: self.taken }),
            written => Ok(written.is_none_or(|written| self.taken == written)),
        }
    }

    /// Takes an exchange, and judges the pending exchanges once they fill a part.
    pub(super) fn take(&mut self, head: Option<&Head>, base_url: &str, exchange: Exchange) -> Result<(), Unusable> {
        let context = |parts: &Parts<'_>| match head {
            Some(head) => head.context(),
            None => Ok(parts.recorded.context(base_url, Extent::Sample)),
        };
        if self.pending.is_empty() && !self.is_divided {
            let side = head.and_then(|head| side_of(&head.options)).unwrap_or(Side::Server);
            self.recorded.side.get_or_insert(side);
        }
        self.is_foreign = head.is_none();
        match exchange.known.begins {
            None => {}
            Some(Extent::Sample) => self.extent = Some(Extent::Sample),
            Some(extent) if self.pending.is_empty() => self.extent = Some(extent),
            Some(extent) if self.exceeds(1) => {
                let context = context(self)?;
                self.judge(&context);
                self.is_divided = true;
                self.extent = Some(extent);
            }
            Some(_) => {}
        }
        self.taken += 1;
        self.bytes += weight(&exchange);
        self.pending.push(exchange);
        let fills_part = match head.map(|head| head.extent) {
            Some(Extent::Run) if !self.is_divided => self.bytes > WHOLE_RUN,
            Some(Extent::Conversation) => self.exceeds(LONGEST_PART),
            _ => self.exceeds(1),
        };
        if fills_part {
            self.is_divided = true;
            self.extent = None;
            let context = context(self)?;
            self.judge(&context);
        }
        Ok(())
    }

    fn exceeds(&self, parts: usize) -> bool {
        self.bytes > parts * PART || self.pending.len() >= parts * PART_EXCHANGES
    }

    /// Judges the pending exchanges with the extent that the recording states. If it states none, each part of a divided recording is a
    /// sample.
    pub(super) fn judge(&mut self, context: &Context) {
        let mut context = context.clone();
        context.extent = match self.extent {
            Some(extent) => extent.min(context.extent),
            None if self.is_divided => Extent::Sample,
            None => context.extent,
        };
        if !self.pending.is_empty() {
            let mut exchanges = std::mem::take(&mut self.pending);
            if self.is_foreign {
                har::withhold_lost(&mut exchanges);
            }
            self.recorded.pseudonyms.read_trace(!self.is_foreign);
            let trace = self.recorded.sample(context, exchanges);
            self.bytes = 0;
            let _added = self.recorded.add(trace);
        }
    }

    /// The pending exchanges as a whole run, with the options from the head of its recording.
    pub(super) fn run(self, head: &Head, context: Context, name: &str) -> Result<Run, Unusable> {
        let wrong = |problem: String| Unusable::Options(name.to_owned(), problem);
        let options: RunOptions =
            serde_json::from_value(head.options.clone()).map_err(|error| wrong(error.to_string()))?;
        let (ended_early, took) = (options.ended_early.clone(), options.took);
        let options = options.restore(&context).ok_or_else(|| wrong("a run without a key".to_owned()))?;
        Ok(Run { trace: Trace { context, exchanges: self.pending }, options, ended_early, took })
    }
}

/// A recorded run.
pub(super) struct Run {
    pub(super) trace: Trace,
    pub(super) options: Options,
    pub(super) ended_early: Option<String>,
    pub(super) took: Option<Duration>,
}

impl Run {
    /// The report of the run on these terms.
    pub(super) fn conclude(mut self, terms: &Terms) -> Report {
        terms.apply_to(&mut self.options);
        conclude_run(&self.trace, &self.options, self.ended_early, self.took)
    }
}

/// The approximate amount of memory that an exchange takes while it is judged, in bytes.
#[must_use]
pub fn weight(exchange: &Exchange) -> usize {
    let values = exchange.response().map_or(0, |response| count_values(&response.body).min(MAX_VALUES));
    size(exchange) + 64 * values
}
