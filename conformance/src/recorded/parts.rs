//! The parts of one recording: each is judged by itself, so that a recording of any length takes bounded memory.

use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::{Context, Trace};
use animal_store_traffic::har;

use super::recorded_judge::RecordedJudge;
use super::totals::size;

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
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Inserts an exchange before the one at this place.
    pub fn insert(&mut self, place: usize, exchange: Exchange) {
        self.weight += weight(&exchange);
        self.exchanges.insert(place, exchange);
    }

    /// The size, in multiples of the size at which a sample is divided: 1,000 exchanges or 16 MiB.
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
    pub(super) context: Context,
    pending: PendingPart,
    /// The number of exchanges that were taken.
    pub(super) taken: usize,
    /// Whether a part was judged before the end of the recording.
    pub(super) is_divided: bool,
    /// Whether another program wrote the recording.
    is_foreign: bool,
}

impl<'c> Parts<'c> {
    pub(super) fn new(recorded: &'c mut RecordedJudge, is_foreign: bool) -> Parts<'c> {
        let context = Context::new(Extent::Sample, "");
        Parts { recorded, context, pending: PendingPart::default(), taken: 0, is_divided: false, is_foreign }
    }

    /// Takes an exchange, and judges the pending exchanges once they fill a part.
    pub(super) fn take(&mut self, exchange: Exchange) {
        match exchange.known.begins {
            Some(Extent::Sample) => self.pending.extent = Some(Extent::Sample),
            Some(extent) if self.pending.exchanges.is_empty() => self.pending.extent = Some(extent),
            Some(extent) if self.pending.size() >= 1.0 => {
                self.judge();
                self.is_divided = true;
                self.pending.extent = Some(extent);
            }
            _ => {}
        }
        self.taken += 1;
        self.pending.insert(self.pending.exchanges.len(), exchange);
        let fills_part = match self.context.extent {
            Extent::Run if !self.is_divided => self.pending.weight > WHOLE_RUN,
            Extent::Conversation => self.pending.size() >= LONGEST_PART,
            _ => self.pending.size() >= 1.0,
        };
        if fills_part {
            self.is_divided = true;
            self.pending.extent = None;
            self.judge();
        }
    }

    /// Judges the pending exchanges with the extent that the recording states. If it states none, each part of a divided recording is a
    /// sample.
    pub(super) fn judge(&mut self) {
        let (mut exchanges, extent) = self.pending.take(self.pending.exchanges.len());
        if exchanges.is_empty() {
            return;
        }
        let extent = match extent {
            Some(extent) => extent.min(self.context.extent),
            None if self.is_divided => Extent::Sample,
            None => self.context.extent,
        };
        if self.is_foreign {
            har::withhold_lost(&mut exchanges);
        }
        self.recorded.pseudonyms.read_trace(!self.is_foreign);
        let trace = self.recorded.sample(Context { extent, ..self.context.clone() }, exchanges);
        self.recorded.add(trace);
    }

    /// The pending exchanges as a whole run.
    pub(super) fn into_run(self) -> Trace {
        Trace { context: self.context, exchanges: self.pending.exchanges }
    }
}

/// The approximate amount of memory that an exchange takes while it is judged, in bytes.
fn weight(exchange: &Exchange) -> usize {
    let values = exchange.response().map_or(0, |response| count_values(&response.body).min(MAX_VALUES));
    size(exchange) + 64 * values
}
