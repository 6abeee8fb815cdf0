//! The parts of one recording: each is judged by itself, so that a recording of any length takes bounded memory.

use std::time::Duration;

use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::{Context, Trace};
use animal_store_traffic::{Head, har};
use serde::Deserialize;

use super::options::RunOptions;
use super::recorded_judge::RecordedJudge;
use super::terms::Terms;
use super::totals::size;
use super::unusable::UnusableRecording;
use crate::options::Options;
use crate::report::Report;
use crate::run::judge::conclude;

/// The weight of the exchanges of a sample that are judged at once. A longer recording is divided into parts, and each part is judged as a
/// sample. A run of up to [`WHOLE_RUN`] is judged as a whole.
const PART_WEIGHT: usize = 16 * 1024 * 1024;

/// The number of exchanges of a sample that are judged at once: the time that rules take grows faster than this number.
pub const PART_EXCHANGES: usize = 1_000;

/// The size of the longest part of a proxy's recording: it ends where no request is pending.
pub const LONGEST_PART: f64 = 4.0;

/// The maximum weight of a recorded run that is judged as a whole.
const WHOLE_RUN: usize = 512 * 1024 * 1024;

/// The exchanges that are judged together as the next part of a recording.
#[derive(Default)]
pub struct PendingPart {
    exchanges: Vec<Exchange>,
    /// The sum of the weights of the exchanges.
    weight: usize,
    /// The extent of the part, if it is known.
    pub extent: Option<Extent>,
}

impl PendingPart {
    /// The pending exchanges.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Inserts an exchange before the one at this place.
    pub fn insert(&mut self, place: usize, exchange: Exchange) {
        self.weight += weight(&exchange);
        self.exchanges.insert(place, exchange);
    }

    /// The size, in multiples of the size at which a sample is divided: 1,000 exchanges or 16 MiB.
    #[must_use]
    pub fn size(&self) -> f64 {
        let exchanges = self.exchanges.len() as f64 / PART_EXCHANGES as f64;
        exchanges.max(self.weight as f64 / PART_WEIGHT as f64)
    }

    /// Takes the first exchanges, with their extent. The others begin the next part, whose extent is not known yet.
    pub fn take(&mut self, count: usize) -> (Vec<Exchange>, Option<Extent>) {
        let rest = self.exchanges.split_off(count);
        self.weight = rest.iter().map(weight).sum();
        (std::mem::replace(&mut self.exchanges, rest), self.extent.take())
    }
}

/// The parts of one recording.
pub(super) struct Parts<'c> {
    pub(super) recorded: &'c mut RecordedJudge,
    pending: PendingPart,
    /// The number of exchanges that were taken.
    pub(super) taken: usize,
    /// Whether a part was judged before the end of the recording.
    pub(super) is_divided: bool,
    /// Whether another program wrote the recording.
    is_foreign: bool,
}

impl<'c> Parts<'c> {
    pub(super) fn new(recorded: &'c mut RecordedJudge) -> Parts<'c> {
        Parts { recorded, pending: PendingPart::default(), taken: 0, is_divided: false, is_foreign: false }
    }

    /// Takes an exchange, and judges the pending exchanges once they fill a part.
    pub(super) fn take(
        &mut self,
        head: Option<&Head>,
        base_url: &str,
        exchange: Exchange,
    ) -> Result<(), UnusableRecording> {
        let context = |parts: &Parts<'_>| match head {
            Some(head) => head.context(),
            None => Ok(parts.recorded.context(base_url, Extent::Sample)),
        };
        let is_empty = self.pending.exchanges.is_empty();
        if is_empty && !self.is_divided {
            // The side that a proxy judged, as the head of its recording states it.
            let side = head.and_then(|head| Side::deserialize(head.options.get("side")?).ok());
            self.recorded.side.get_or_insert(side.unwrap_or(Side::Server));
        }
        self.is_foreign = head.is_none();
        match exchange.known.begins {
            None => {}
            Some(Extent::Sample) => self.pending.extent = Some(Extent::Sample),
            Some(extent) if is_empty => self.pending.extent = Some(extent),
            Some(extent) if self.pending.size() >= 1.0 => {
                let context = context(self)?;
                self.judge(&context);
                self.is_divided = true;
                self.pending.extent = Some(extent);
            }
            Some(_) => {}
        }
        self.taken += 1;
        self.pending.insert(self.pending.exchanges.len(), exchange);
        let fills_part = match head.map(|head| head.context.extent) {
            Some(Extent::Run) if !self.is_divided => self.pending.weight > WHOLE_RUN,
            Some(Extent::Conversation) => self.pending.size() >= LONGEST_PART,
            _ => self.pending.size() >= 1.0,
        };
        if fills_part {
            self.is_divided = true;
            self.pending.extent = None;
            let context = context(self)?;
            self.judge(&context);
        }
        Ok(())
    }

    /// Judges the pending exchanges with the extent that the recording states. If it states none, each part of a divided recording is a
    /// sample.
    pub(super) fn judge(&mut self, context: &Context) {
        let (mut exchanges, extent) = self.pending.take(self.pending.exchanges.len());
        if exchanges.is_empty() {
            return;
        }
        let extent = match extent {
            Some(extent) => extent.min(context.extent),
            None if self.is_divided => Extent::Sample,
            None => context.extent,
        };
        if self.is_foreign {
            har::withhold_lost(&mut exchanges);
        }
        self.recorded.pseudonyms.read_trace(!self.is_foreign);
        let trace = self.recorded.sample(Context { extent, ..context.clone() }, exchanges);
        let _added = self.recorded.add(trace);
    }

    /// The pending exchanges as a whole run, with the options from the head of its recording.
    pub(super) fn run(self, head: &Head, context: Context, name: &str) -> Result<Run, UnusableRecording> {
        let wrong = |problem: String| UnusableRecording::Options(name.to_owned(), problem);
        let options: RunOptions =
            serde_json::from_value(head.options.clone()).map_err(|error| wrong(error.to_string()))?;
        let (ended_early, took) = (options.ended_early.clone(), options.took);
        let options = options.restore(&context).ok_or_else(|| wrong("a run without a key".to_owned()))?;
        Ok(Run { trace: Trace { context, exchanges: self.pending.exchanges }, options, ended_early, took })
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
        conclude(&self.trace, &self.options, self.ended_early, self.took)
    }
}

/// The approximate amount of memory that an exchange takes while it is judged, in bytes.
fn weight(exchange: &Exchange) -> usize {
    let values = exchange.response().map_or(0, |response| count_values(&response.body).min(MAX_VALUES));
    size(exchange) + 64 * values
}
