//! Facts about a service with several addresses: which of its replicas count together, and when each shows what was created at another.
//!
//! Rules judge such a service as one server, because that is what the specification describes. These facts say which replicas a
//! finding is about; nothing here judges.

mod counters;
mod reads;

pub use counters::Counter;
pub use reads::Reads;

use crate::facts::Facts;
use crate::history::Entry;
use crate::tolerance::Tolerance;

/// What the exchanges show of each replica. All lists are in the order of the addresses: the base URL, then the replicas.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// With which others each replica counts the requests of a key.
    pub counters: Vec<Counter>,
    /// What each replica shows of the animals that were created at other ones.
    pub reads: Vec<Reads>,
}

impl Fleet {
    /// The facts of a trace, if the service has several addresses.
    #[must_use]
    pub fn of(facts: &Facts<'_>) -> Option<Fleet> {
        let addresses = facts.history.context.addresses().count();
        (addresses > 1).then(|| Fleet {
            counters: counters::counters(facts, addresses),
            reads: reads::reads(facts.history, addresses),
        })
    }

    /// The replicas that count for themselves.
    #[must_use]
    pub fn counting_apart(&self) -> Vec<usize> {
        let is_own = |counter: &Counter| matches!(counter, Counter::With(others) if others.is_empty());
        self.places(|at| is_own(&self.counters[at]))
    }

    /// Whether some replicas count together.
    #[must_use]
    pub fn shares_a_counter(&self) -> bool {
        self.counters.iter().any(|counter| matches!(counter, Counter::With(others) if !others.is_empty()))
    }

    /// The replicas that did not show something that was created elsewhere, although reads might not lag any more.
    #[must_use]
    pub fn lagging(&self) -> Vec<usize> {
        let lag = Tolerance::READ_LAG.duration();
        self.places(|at| self.reads[at].missing_for.is_some_and(|time| time >= lag))
    }

    /// Those of them that have shown nothing of it.
    #[must_use]
    pub fn storing_apart(&self) -> Vec<usize> {
        self.lagging().into_iter().filter(|at| self.reads[*at].shown == 0).collect()
    }

    fn places(&self, is_one: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.reads.len()).filter(|at| is_one(*at)).collect()
    }
}

/// The replica that a request was sent to, as a place among the addresses.
#[must_use]
pub fn replica_of(entry: &Entry<'_>) -> usize {
    entry.exchange.request.replica.unwrap_or_default()
}
