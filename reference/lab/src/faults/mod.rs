//! The faults: each breaks one requirement or a few, in a way in which real servers do.
//!
//! One file for each section of the specification. Each fault names the requirements that it breaks.

use super::limiter::{Policy, limiter};
use super::{Layer, Rate, Request, Response, ServerState, Variation};
use animal_store_reference::Plan;

mod authentication;
mod bodies;
mod connections;
mod create;
mod credentials;
mod errors;
mod get;
mod headers;
mod limits;
mod list;
mod names;
mod pages;
mod quota;
mod reading;
mod resources;
mod service;
mod storage;
mod values;
mod versioning;

/// A defect of a broken server.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The name of the fault: the first requirement that it breaks, and a short name. It never changes.
    pub name: String,
    /// The behaviour of the broken server, in one sentence.
    pub does: &'static str,
    /// The real servers that do this, or their reason for it.
    pub like: &'static str,
    /// The requirements that the fault breaks.
    pub targets: &'static [&'static str],
    /// The smallest plan whose limits leave a suite room to show the fault.
    pub plan: Plan,
    /// The server that has the fault.
    pub variation: Variation,
    /// The share of the requests in which the fault shows, if not all.
    pub rate: Option<Rate>,
}

/// Fills in a status where an animal has none.
fn fill_in_status(response: &mut Response) {
    response.edit_pets(|pet| {
        pet.entry("status").or_insert(serde_json::json!("available"));
    });
}

/// A fault that does nothing yet.
fn fault(short: &'static str, does: &'static str, targets: &'static [&'static str], like: &'static str) -> Fault {
    Fault {
        name: format!("{}.{short}", targets[0]),
        does,
        like,
        targets,
        plan: Plan::Free,
        variation: Variation::default(),
        rate: None,
    }
}

impl Fault {
    fn before(self, change: impl Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync + 'static) -> Fault {
        self.layer(Layer::default().before(change))
    }

    /// Changes requests, and answers none of them itself.
    fn edit(self, change: impl Fn(&mut Request, &ServerState) + Send + Sync + 'static) -> Fault {
        self.before(move |request, server| {
            change(request, server);
            None
        })
    }

    fn after(self, change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static) -> Fault {
        self.layer(Layer::default().after(change))
    }

    /// Changes responses; the function sees the requests as the inner layers have changed them.
    fn after_inner(self, change: impl Fn(&Request, &mut Response) + Send + Sync + 'static) -> Fault {
        self.layer(Layer::default().after(move |request, response, _| change(request, response)))
    }

    /// Changes responses after all other layers, the limiter among them.
    fn outside(mut self, change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static) -> Fault {
        self.variation.layers.insert(0, Layer::default().after(change));
        self
    }

    fn layer(mut self, layer: Layer) -> Fault {
        self.variation.layers.push(layer);
        self
    }

    /// Sets another limiter than the reference's.
    fn limiter(mut self, policy: Policy) -> Fault {
        self.variation.setting.counts_in_layer = true;
        self.variation.layers.insert(0, limiter(policy));
        self
    }

    /// Sets the smallest plan whose limits admit enough requests to show the fault.
    fn on(mut self, plan: Plan) -> Fault {
        self.plan = plan;
        self
    }

    fn stock(mut self, animals: usize) -> Fault {
        self.variation.setting.stock = animals;
        self
    }
}

/// Every fault, in the order of the specification.
#[must_use]
pub fn faults() -> Vec<Fault> {
    [
        service::faults(),
        connections::faults(),
        resources::faults(),
        list::faults(),
        pages::faults(),
        create::faults(),
        values::faults(),
        reading::faults(),
        bodies::faults(),
        names::faults(),
        get::faults(),
        storage::faults(),
        authentication::faults(),
        credentials::faults(),
        errors::faults(),
        headers::faults(),
        quota::faults(),
        limits::faults(),
        versioning::faults(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_sentences_are_whole() {
        let mut names = HashSet::new();
        for fault in faults() {
            assert!(names.insert(fault.name.clone()), "two faults are called {}", fault.name);
            assert!(fault.does.ends_with('.') && !fault.like.ends_with('.'), "{}: {}", fault.name, fault.does);
            let start_at = fault.variation.setting.start_at;
            assert!(start_at.is_none_or(|time| time.parse::<jiff::Timestamp>().is_ok()), "{}", fault.name);
        }
    }
}
