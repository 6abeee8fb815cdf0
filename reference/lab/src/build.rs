//! The builder of choices and faults: the changes of a server, by the names that the tables use.

use std::sync::Arc;

use serde_json::Value;

use crate::layer::{Changes, Picks, Selects};
use crate::limiter::{Flaw, Policy, limiter};
use crate::members::{Members, change};
use crate::view::View;
use crate::{Layer, Request, Response, ServerState, Setting, Variation};

type PolicyChange = Arc<dyn Fn(&mut Policy) + Send + Sync>;

/// The changes that make the reference another server.
#[derive(Clone, Default)]
pub(crate) struct Build {
    pub(crate) setting: Setting,
    /// The changes of the limiter. Without any, the reference limits by itself.
    limiter: Vec<PolicyChange>,
    /// The changes of the view of lists and fetches on the animals.
    view: Vec<fn(&mut View)>,
    /// Layers around the limiter.
    pub(crate) outside: Vec<Layer>,
    /// Layers behind the limiter, which counts their results.
    pub(crate) inside: Vec<Layer>,
}

impl Build {
    /// Adds the changes of a part of the server, such as a choice. `owner` is a number that no other part has.
    pub(crate) fn add(&mut self, part: Build, owner: usize) {
        let own = |layer| Layer { owner, ..layer };
        self.setting.add(&part.setting);
        self.limiter.extend(part.limiter);
        self.view.extend(part.view);
        self.outside.extend(part.outside.into_iter().map(own));
        self.inside.extend(part.inside.into_iter().map(own));
    }

    /// The settings of the reference, and the layers around it.
    pub(crate) fn finish(self) -> Variation {
        let Build { mut setting, limiter: changes, view: views, outside: mut layers, inside } = self;
        if !changes.is_empty() {
            let mut policy = Policy::default();
            changes.iter().for_each(|change| change(&mut policy));
            setting.counts_in_layer = true;
            layers.push(limiter(policy));
        }
        layers.extend(inside);
        let mut view = View::default();
        views.iter().for_each(|change| change(&mut view));
        layers.extend(view.layers());
        layers.sort_by_key(|layer| !layer.outermost);
        Variation { setting, layers }
    }
}

/// Any request.
pub(crate) fn any(_: &Request) -> bool {
    true
}

/// The responses to some requests.
pub(crate) fn of(which: impl Selects) -> impl Picks {
    move |request, _, _| which(request)
}

/// The responses with a status to some requests.
pub(crate) fn at(status: u16, which: impl Selects) -> impl Picks {
    move |request, response, _| response.status == status && which(request)
}

/// The responses of success.
pub(crate) fn success(_: &Request, response: &Response, _: &ServerState) -> bool {
    matches!(response.status, 200 | 201)
}

/// The responses of failure.
pub(crate) fn failure(_: &Request, response: &Response, _: &ServerState) -> bool {
    response.status >= 400
}

/// A choice or a fault that is being built. Every method adds a change.
pub(crate) trait Builds: Sized {
    fn build(&mut self) -> &mut Build;

    /// Adds a layer: of a choice around the limiter, of a fault behind it.
    fn layer(self, layer: Layer) -> Self;

    /// Changes requests, or answers them in place of the reference.
    fn before(self, change: impl Fn(&mut Request, &ServerState) -> Option<Response> + Send + Sync + 'static) -> Self {
        self.layer(Layer::default().before(change))
    }

    /// Changes requests, and answers none of them itself.
    fn edit(self, change: impl Fn(&mut Request, &ServerState) + Send + Sync + 'static) -> Self {
        self.before(move |request, server| {
            change(request, server);
            None
        })
    }

    /// Changes some requests.
    fn edits(self, which: impl Selects, change: impl Fn(&mut Request) + Send + Sync + 'static) -> Self {
        self.edit(move |request, _| {
            if which(request) {
                change(request);
            }
        })
    }

    /// Changes the members of created animals before the reference reads them.
    fn edit_created(self, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Self {
        self.edit(move |request, _| request.edit_object(&change))
    }

    /// Takes some values of a member of created animals for other values.
    fn reads(self, member: &'static str, to: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static) -> Self {
        self.edit_created(move |pet| change(pet, member, &to))
    }

    /// Changes responses.
    fn after(self, change: impl Changes) -> Self {
        self.layer(Layer::default().after(change))
    }

    /// Changes some responses behind the limiter, which counts the results.
    fn inside(mut self, which: impl Picks, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Self {
        self.build().inside.push(Layer::default().sends(which, change));
        self
    }

    /// Changes responses after the limiter.
    fn outside(mut self, change: impl Changes) -> Self {
        self.build().outside.push(Layer::default().after(change));
        self
    }

    /// Changes responses with a status.
    fn answered(self, status: u16, change: impl Changes) -> Self {
        self.after(move |request, response, server| {
            if response.status == status {
                change(request, response, server);
            }
        })
    }

    /// Changes some responses.
    fn sends(self, which: impl Picks, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Self {
        self.layer(Layer::default().sends(which, change))
    }

    /// Answers some requests with the second status, where the reference answers with the first one.
    fn turns(self, [from, to]: [u16; 2], which: impl Selects) -> Self {
        self.sends(at(from, which), move |response| response.refuse(to))
    }

    /// Makes the valid key of some requests unknown, by the number of its use.
    fn disowns(self, which: fn(use_of_key: u64) -> bool) -> Self {
        self.edit(move |request, server| {
            if server.key_of(request).is_some() && which(server.count()) {
                request.authorize("an-unknown-key");
            }
        })
    }

    /// Changes every animal that the responses to some requests show.
    fn shows_in(self, which: impl Selects, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Self {
        self.after(move |request, response, _| {
            if which(request) {
                response.edit_pets(&change);
            }
        })
    }

    /// Changes every animal that a response shows.
    fn shows(self, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Self {
        self.shows_in(|_| true, change)
    }

    /// Changes the members of errors.
    fn edits_errors(self, change: impl Fn(&mut Members) + Send + Sync + 'static) -> Self {
        self.after(move |_, response, _| response.edit_error(&change))
    }

    /// Changes the limiter, which then is no longer the reference's.
    fn limits(mut self, change: impl Fn(&mut Policy) + Send + Sync + 'static) -> Self {
        self.build().limiter.push(Arc::new(change));
        self
    }

    /// Gives the limiter a flaw.
    fn flaw(self, flaw: Flaw) -> Self {
        self.limits(move |policy| policy.flaw = Some(flaw))
    }

    /// Changes the view of lists and fetches on the animals.
    fn views(mut self, change: fn(&mut View)) -> Self {
        self.build().view.push(change);
        self
    }

    /// Changes the settings of the reference.
    fn sets(mut self, change: impl FnOnce(&mut Setting)) -> Self {
        change(&mut self.build().setting);
        self
    }
}
