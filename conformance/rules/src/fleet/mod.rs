//! Facts about a service with several addresses: which of its replicas count together, and when each shows the animals created at another.
//!
//! Rules judge such a service as one server, because the specification describes one. These facts tell which replicas a finding is about.
//! No code here judges.

mod counters;
mod reads;

use std::time::Duration;

pub use counters::Counter;
pub use reads::Reads;

use crate::facts::Facts;
use crate::history::Entry;
use crate::tolerance::Tolerance;

/// The facts about each replica. All lists are in the order of the addresses: the base URL, then the replicas.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The other replicas with which each replica counts the requests of a key.
    pub counters: Vec<Counter>,
    /// The reads of each replica that bear on animals created at other replicas.
    pub reads: Vec<Reads>,
    /// The number of animals of other clients that each replica shows and no other one does.
    pub private: Vec<usize>,
}

impl Fleet {
    /// The facts of a trace, if the service has several addresses.
    pub fn of(facts: &Facts<'_>) -> Option<Fleet> {
        let addresses = facts.history.context.addresses().count();
        (addresses > 1).then(|| Fleet {
            counters: counters::counters(facts, addresses),
            reads: reads::reads(facts.history, addresses),
            private: reads::private(facts.history, addresses),
        })
    }

    /// The replicas that count for themselves.
    pub fn counting_apart(&self) -> Vec<usize> {
        self.places_where(|at| matches!(&self.counters[at], Counter::With(others) if others.is_empty()))
    }

    /// Returns true if some replicas count together.
    pub fn shares_a_counter(&self) -> bool {
        self.counters.iter().any(|counter| matches!(counter, Counter::With(others) if !others.is_empty()))
    }

    /// The replicas that did not show an animal created at another replica, although the time for which reads may lag was over.
    pub fn lagging(&self) -> Vec<usize> {
        let lag = Tolerance::READ_LAG.unsigned();
        self.places_where(|at| self.reads[at].missing_ms.is_some_and(|time| Duration::from_millis(time) >= lag))
    }

    /// The lagging replicas that have shown no animal created at another replica.
    pub fn storing_apart(&self) -> Vec<usize> {
        self.lagging().into_iter().filter(|at| self.reads[*at].shown == 0).collect()
    }

    fn places_where(&self, condition: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.reads.len()).filter(|at| condition(*at)).collect()
    }
}

/// The replica that a request was sent to, as a place among the addresses.
pub fn replica_of(entry: &Entry<'_>) -> usize {
    entry.exchange.request.replica.unwrap_or_default()
}
