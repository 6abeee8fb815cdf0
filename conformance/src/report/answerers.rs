//! Who answered the requests of a run or a recording.

use serde::{Deserialize, Serialize};

use animal_store_rules::trace::answerer::name_of;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Answerer;

/// This many intermediaries are counted by name: what a recording contains may name any number.
const MAX_NAMED: usize = 20;

/// The name under which further intermediaries are counted.
const OTHERS: &str = "others";

/// How many requests the service answered, and how many others did or nobody.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answerers {
    /// Requests that the service answered; or it had to answer, and did not. Only these are judged.
    pub service: usize,
    /// Requests that something between client and service answered, such as a proxy or a balancer.
    pub intermediaries: Vec<Intermediary>,
    /// Requests that nobody answered, and that the service need not have received.
    pub nobody: usize,
}

/// An intermediary that answered in the place of the service.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Intermediary {
    /// Its likely name, from its header fields: `nginx`, for example.
    pub name: String,
    /// How many requests it answered.
    pub requests: usize,
}

impl Answerers {
    /// Counts an exchange.
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

    /// Who answered these exchanges.
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
