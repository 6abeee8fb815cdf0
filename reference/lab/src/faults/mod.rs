//! The faults: each breaks one requirement or a few, in a way in which real servers do.
//!
//! One file for each section of the specification. Each fault names the requirements that it breaks.

use serde_json::Value;

use super::build::{Build, Builds, any, at, failure, of, success};
use super::layer::Selects;
use super::limiter::{Anchor, Flaw};
use super::members::{Members, change, is_status, set, set_missing};
use super::{Layer, Rate, Request, Response, ServerState, Variation};
use animal_store_reference::Plan;
pub use near_misses::readers;

mod authentication;
mod bodies;
mod create;
mod errors;
mod get;
mod headers;
mod limits;
mod list;
mod near_misses;
mod resources;
mod service;
mod versioning;

/// A defect of a broken server.
#[derive(Clone)]
pub struct Fault {
    /// The name of the fault: the first requirement that it breaks, and a short name. It never changes.
    pub name: String,
    /// The behaviour of the broken server, in one sentence.
    pub does: &'static str,
    /// A product that does this; empty for none.
    pub like: &'static str,
    /// The requirements that the fault breaks.
    pub targets: Vec<&'static str>,
    /// The smallest plan whose limits leave a suite room to show the fault.
    pub plan: Plan,
    /// The share of the requests in which the fault shows, if not all.
    pub rate: Option<Rate>,
    build: Build,
}

/// A fault that does nothing yet. Its name begins with a requirement that it breaks.
fn fault(name: &'static str, does: &'static str) -> Fault {
    let (requirement, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let (targets, build) = (vec![requirement], Build::default());
    Fault { name: name.to_owned(), does, like: "", targets, plan: Plan::Free, rate: None, build }
}

/// A fault that seldom occurs: a run on a Free key has no room for it.
fn rare(name: &'static str, does: &'static str) -> Fault {
    fault(name, does).on(Plan::Pro)
}

impl Builds for Fault {
    fn build(&mut self) -> &mut Build {
        &mut self.build
    }

    fn layer(mut self, layer: Layer) -> Fault {
        self.build.inside.push(layer);
        self
    }
}

impl Fault {
    /// The server that has the fault.
    pub fn variation(&self) -> Variation {
        self.build.clone().finish()
    }

    /// Names further requirements that the fault breaks.
    fn also(mut self, targets: &[&'static str]) -> Fault {
        self.targets.extend(targets);
        self
    }

    /// Names a product that does this.
    fn like(mut self, product: &'static str) -> Fault {
        self.like = product;
        self
    }

    /// Sets the smallest plan whose limits admit enough requests to show the fault.
    fn on(mut self, plan: Plan) -> Fault {
        self.plan = plan;
        self
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

    /// Admits some requests whose `Authorization` the server mistakes for that with the key.
    fn presents(self, which: fn(&Request) -> bool, mistakes: fn(value: &str, key: &str) -> bool) -> Fault {
        self.admits(move |request, key| which(request) && mistakes(request.authorization(), key))
    }

    /// Admits some requests with a bearer token that the server mistakes for the key.
    fn mistakes(self, which: fn(&Request) -> bool, mistakes: fn(token: &str, key: &str) -> bool) -> Fault {
        self.admits(move |request, key| which(request) && request.token().is_some_and(|token| mistakes(token, key)))
    }

    /// Answers some creations with a status, except those without a valid key and those over the limit.
    fn fails(self, status: u16, which: impl Selects) -> Fault {
        self.after(move |request, response, _| {
            if request.is_create() && ![401, 429].contains(&response.status) && which(request) {
                response.refuse(status);
            }
        })
    }

    /// Keeps some responses, see [`ServerState::kept`].
    fn keeps(self, which: fn(&Request, &Response) -> bool) -> Fault {
        self.after(move |request, response, server| {
            if which(request, response) {
                server.keep(request, response);
            }
        })
    }

    /// Changes the animals of lists.
    fn lists(self, change: impl Fn(&mut Vec<Value>, &Request, &ServerState) + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, server| response.edit_list(request, |pets| change(pets, request, server)))
    }
}

/// Gives a request the first known key. Returns true if there is one.
fn give_key(request: &mut Request, server: &ServerState) -> bool {
    server.keys().first().map(|key| request.authorize(key)).is_some()
}

/// Every fault that was written by itself, in the order of the specification. [`readers`] has those that follow from near misses.
pub fn faults() -> Vec<Fault> {
    [
        service::faults(),
        resources::faults(),
        list::faults(),
        create::faults(),
        bodies::faults(),
        get::faults(),
        authentication::faults(),
        errors::faults(),
        headers::faults(),
        limits::faults(),
        versioning::faults(),
    ]
    .concat()
}

/// Every fault: those of [`faults`], and then those of [`readers`].
pub fn every() -> Vec<Fault> {
    [faults(), readers()].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_sentences_are_whole() {
        let mut names = HashSet::new();
        for fault in every() {
            assert!(names.insert(fault.name.clone()), "two faults are called {}", fault.name);
            assert!(fault.does.ends_with('.') && !fault.like.ends_with('.'), "{}: {}", fault.name, fault.does);
            let start_at = fault.variation().setting.start_at;
            assert!(start_at.is_none_or(|time| time.parse::<jiff::Timestamp>().is_ok()), "{}", fault.name);
        }
    }
}
