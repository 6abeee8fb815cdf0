//! Saboteurs: the reference with a layer around it that breaks one thing, in a way in which real servers do.
//!
//! One file for each section of the specification. Each saboteur names the requirements that must catch it.

use animal_store_reference::plan::Plan;

use crate::layers::limiter::{Policy, limiter};
use crate::layers::{Layer, Request, Response, ServerState, Setting};

mod authentication;
mod create;
mod errors;
mod figures;
mod get;
mod headers;
mod list;
mod matrix;
mod quota;
mod reading;
mod resources;
mod service;
mod versioning;

pub(crate) use matrix::trials;

/// A broken server.
pub(crate) struct Saboteur {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it is like: how a real server comes to do this.
    pub(crate) like: &'static str,
    /// The requirements that must catch it.
    pub(crate) targets: &'static [&'static str],
    /// The reference behind the layers.
    pub(crate) setting: Setting,
    /// The layers.
    pub(crate) layers: Vec<Layer>,
}

/// A saboteur that does nothing yet.
fn saboteur(name: &'static str, targets: &'static [&'static str], like: &'static str) -> Saboteur {
    Saboteur { name, like, targets, setting: Setting::default(), layers: Vec::new() }
}

impl Saboteur {
    fn before(
        self,
        change: impl Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync + 'static,
    ) -> Saboteur {
        self.layer(Layer::default().before(change))
    }

    /// Changes requests, and answers none of them itself.
    fn edit(self, change: impl Fn(&mut Request, &ServerState) + Send + Sync + 'static) -> Saboteur {
        self.before(move |request, server| {
            change(request, server);
            None
        })
    }

    fn after(self, change: impl Fn(&Request, &mut Response, &ServerState) + Send + Sync + 'static) -> Saboteur {
        self.layer(Layer::default().after(change))
    }

    fn layer(mut self, layer: Layer) -> Saboteur {
        self.layers.push(layer);
        self
    }

    /// With another limiter than the reference's.
    fn limiter(mut self, policy: Policy) -> Saboteur {
        self.setting.plan = Plan::Enterprise;
        self.layers.insert(0, limiter(policy));
        self
    }

    fn stock(mut self, animals: usize) -> Saboteur {
        self.setting.stock = animals;
        self
    }
}

/// Every saboteur.
fn saboteurs() -> Vec<Saboteur> {
    [
        service::saboteurs(),
        resources::saboteurs(),
        list::saboteurs(),
        create::saboteurs(),
        reading::saboteurs(),
        get::saboteurs(),
        authentication::saboteurs(),
        errors::saboteurs(),
        headers::saboteurs(),
        quota::saboteurs(),
        versioning::saboteurs(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
