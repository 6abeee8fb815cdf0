//! The faults: each breaks one requirement or a few, in a way in which real servers do.
//!
//! One file for each section of the specification. Each fault names the requirements that it breaks.

use serde_json::Value;

use super::limiter::{Flaw, Policy, limiter};
use super::members::{Members, change, is_status, set, set_missing};
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

/// A fault that does nothing yet. Its name begins with the first of the requirements that it breaks.
fn fault(short: &'static str, targets: &'static [&'static str]) -> Fault {
    Fault {
        name: format!("{}.{short}", targets[0]),
        does: "",
        like: "",
        targets,
        plan: Plan::Free,
        variation: Variation::default(),
        rate: None,
    }
}

impl Fault {
    /// Says what the broken server does, in one sentence.
    fn does(mut self, sentence: &'static str) -> Fault {
        self.does = sentence;
        self
    }

    /// Names the real servers that do this, or their reason for it.
    fn like(mut self, servers: &'static str) -> Fault {
        self.like = servers;
        self
    }

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

    /// Changes the members of created animals before the reference reads them.
    fn edit_created(self, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Fault {
        self.edit(move |request, _| request.edit_object(&change))
    }

    /// Takes some values of a member of created animals for other values.
    fn reads(self, member: &'static str, change: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static) -> Fault {
        self.edit_created(move |pet| super::members::change(pet, member, &change))
    }

    /// Takes one value of a member of created animals for another value.
    fn takes(self, member: &'static str, from: impl Into<Value>, to: impl Into<Value>) -> Fault {
        let (from, to) = (from.into(), to.into());
        self.reads(member, move |value| (*value == from).then(|| to.clone()))
    }

    /// Alters some names of created animals.
    fn renames(self, change: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Fault {
        self.reads("name", move |name| change(name.as_str()?).map(Value::from))
    }

    /// Admits requests with something that the server mistakes for the key.
    fn admits(self, mistakes: impl Fn(&Request, &str) -> bool + Send + Sync + 'static) -> Fault {
        self.edit(move |request, server| {
            if let Some(key) = server.keys().into_iter().find(|key| mistakes(request, key)) {
                request.authorize(&key);
            }
        })
    }

    /// Admits some requests with a bearer token that the server mistakes for the key.
    fn mistakes(self, which: fn(&Request) -> bool, mistakes: fn(token: &str, key: &str) -> bool) -> Fault {
        self.admits(move |request, key| which(request) && request.token().is_some_and(|token| mistakes(token, key)))
    }

    /// Answers some requests with the status `to`, where the reference answers with the status `from`.
    fn turns(self, from: u16, to: u16, which: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Fault {
        self.answered(from, move |request, response, _| {
            if which(request) {
                response.refuse(to);
            }
        })
    }

    /// Changes responses with a status.
    fn answered(
        self,
        status: u16,
        change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static,
    ) -> Fault {
        self.after(move |request, response, server| {
            if response.status == status {
                change(request, response, server);
            }
        })
    }

    /// Answers some creations with a status, except those without a valid key and those over the limit.
    fn fails(self, status: u16, which: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, _| {
            if request.is_create() && ![401, 429].contains(&response.status) && which(request) {
                response.refuse(status);
            }
        })
    }

    /// Changes every animal that the responses to some requests show.
    fn shows_in(
        self,
        which: impl Fn(&Request) -> bool + Send + Sync + 'static,
        change: impl Fn(&mut Members) + Send + Sync + 'static,
    ) -> Fault {
        self.after(move |request, response, _| {
            if which(request) {
                response.edit_pets(&change);
            }
        })
    }

    /// Changes every animal that a response shows.
    fn shows(self, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Fault {
        self.shows_in(|_| true, change)
    }

    /// Changes the animals of lists.
    fn lists(self, change: impl Fn(&mut Vec<Value>, &Request, &ServerState) + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, server| response.edit_list(request, |pets| change(pets, request, server)))
    }

    fn after(self, change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static) -> Fault {
        self.layer(Layer::default().after(change))
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

    /// Sets a limiter with a flaw.
    fn flaw(self, flaw: Flaw) -> Fault {
        self.limiter(Policy { flaw: Some(flaw), ..Policy::default() })
    }

    /// Sets the smallest plan whose limits admit enough requests to show the fault.
    fn on(mut self, plan: Plan) -> Fault {
        self.plan = plan;
        self
    }

    /// Sets the time at which the clock of the server starts.
    fn start_at(mut self, time: &'static str) -> Fault {
        self.variation.setting.start_at = Some(time);
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
