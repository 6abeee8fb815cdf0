//! The counts of the requests of a run or a recording, also by the party that answered them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use animal_store_rules::request::credential_of;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::answerer::name_of;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Answerer;

/// The maximum number of intermediaries that are counted by name, because a recording may name any number of them.
const MAX_NAMED: usize = 20;

/// The name under which further intermediaries are counted.
const OTHERS: &str = "others";

/// The counts of exchanges that a report states.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrafficCounts {
    /// The number of exchanges.
    pub(crate) requests: usize,
    /// The number of exchanges with a key that the server may count them against.
    pub(crate) with_key: usize,
    /// The number of exchanges with such a key that were refused with 429.
    pub(crate) refused: usize,
    pub(crate) answerers: Answerers,
    /// The number of animals that were created.
    pub(crate) created: usize,
    /// The time at which the first request was sent.
    pub(crate) first: Option<Timestamp>,
    /// The time at which the last response was complete.
    pub(crate) last: Option<Timestamp>,
}

impl TrafficCounts {
    /// The counts of these exchanges.
    pub(crate) fn of<'e>(exchanges: impl IntoIterator<Item = &'e Exchange>, context: &Context) -> TrafficCounts {
        let mut counts = TrafficCounts::default();
        exchanges.into_iter().for_each(|exchange| counts.add(exchange, context));
        counts
    }

    /// Counts one more exchange.
    pub(crate) fn add(&mut self, exchange: &Exchange, context: &Context) {
        let comes_with_key = !credential_of(exchange, context).is_invalid();
        self.requests += 1;
        self.with_key += usize::from(comes_with_key);
        self.refused += usize::from(comes_with_key && exchange.status() == Some(429));
        self.answerers.count(exchange);
        self.created += usize::from(exchange.request.method == "POST" && exchange.status() == Some(201));
        self.first = Some(self.first.map_or(exchange.sent_at, |first| first.min(exchange.sent_at)));
        self.last = Some(self.last.map_or(exchange.received_at, |last| last.max(exchange.received_at)));
    }

    /// The time from the first request to the last response, in milliseconds.
    pub(super) fn duration_ms(&self) -> u64 {
        let duration = self.first.zip(self.last).map_or(0, |(first, last)| last.duration_since(first).as_millis());
        u64::try_from(duration).unwrap_or_default()
    }
}

/// The numbers of requests by the party that answered them.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answerers {
    /// The number of requests that the service answered, or had to answer and did not. Only these are judged.
    pub service: usize,
    /// The intermediaries that answered requests, such as a proxy or a load balancer.
    pub intermediaries: Vec<Intermediary>,
    /// The number of requests that got no answer, and that the service need not have received.
    pub nobody: usize,
}

/// An intermediary that answered in the place of the service.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Intermediary {
    /// The likely name, from the header fields of responses: `nginx`, for example.
    pub name: String,
    /// The number of requests that the intermediary answered.
    pub requests: usize,
}

impl Answerers {
    /// Counts an exchange for the party that answered it.
    fn count(&mut self, exchange: &Exchange) {
        match exchange.known.answerer {
            Answerer::Service => self.service += 1,
            Answerer::Nobody => self.nobody += 1,
            Answerer::Intermediary => {
                let mut name = exchange.response().map_or_else(|| "unknown".to_owned(), name_of);
                let intermediaries = &mut self.intermediaries;
                if intermediaries.len() >= MAX_NAMED && !intermediaries.iter().any(|known| known.name == name) {
                    name = OTHERS.to_owned();
                }
                match intermediaries.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.requests += 1,
                    None => intermediaries.push(Intermediary { name, requests: 1 }),
                }
            }
        }
    }

    /// These counts with other names for the intermediaries, such as names without secrets.
    pub(super) fn renamed(mut self, rename: impl Fn(&str) -> String) -> Answerers {
        self.intermediaries.iter_mut().for_each(|intermediary| intermediary.name = rename(&intermediary.name));
        self
    }
}
