//! The parties that answered the requests of a run or a recording.

use serde::{Deserialize, Serialize};

use animal_store_rules::trace::answerer::name_of;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Answerer;

/// The maximum number of intermediaries that are counted by name, because a recording may name any number of them.
const MAX_NAMED: usize = 20;

/// The name under which further intermediaries are counted.
const OTHERS: &str = "others";

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
    pub(crate) fn count(&mut self, exchange: &Exchange) {
        match exchange.known.answerer {
            Answerer::Service => self.service += 1,
            Answerer::Nobody => self.nobody += 1,
            Answerer::Intermediary => {
                let name = exchange.response().map_or_else(|| "unknown".to_owned(), name_of);
                let has_room = self.intermediaries.len() < MAX_NAMED;
                let is_known = self.intermediaries.iter().any(|known| known.name == name);
                let name = if has_room || is_known { name } else { OTHERS.to_owned() };
                match self.intermediaries.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.requests += 1,
                    None => self.intermediaries.push(Intermediary { name, requests: 1 }),
                }
            }
        }
    }

    /// The counts of these exchanges.
    pub(super) fn of(exchanges: &[Exchange]) -> Answerers {
        let mut answerers = Answerers::default();
        exchanges.iter().for_each(|exchange| answerers.count(exchange));
        answerers
    }

    /// These counts with other names for the intermediaries, such as names without secrets.
    pub(super) fn renamed(mut self, rename: impl Fn(&str) -> String) -> Answerers {
        self.intermediaries.iter_mut().for_each(|intermediary| intermediary.name = rename(&intermediary.name));
        self
    }
}
