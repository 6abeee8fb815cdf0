//! Lawful variants: the reference with layers around it that make the choices that it does not make.
//!
//! A choice belongs to an axis, and a server makes at most one on each. None of them may be accused of anything.

use animal_store_reference::plan::Plan;
use serde_json::Value;

use crate::layers::limiter::{FREE, Policy, limiter};
use crate::layers::{Layer, Setting};

mod animals;
mod answers;
mod bodies;
mod conform;
mod limits;
mod view;

pub(crate) use conform::{COMBINATIONS, trials};
use view::View;

/// A server in the making.
#[derive(Clone)]
pub(crate) struct Build {
    /// The reference behind the layers.
    setting: Setting,
    /// The limiter, if it is another than the reference's.
    policy: Option<Policy>,
    /// How lists and fetches look at the animals.
    view: View,
    /// Layers around all that.
    layers: Vec<Layer>,
    /// Layers that turn refusals into successes or the other way: the limiter counts what comes of them.
    inside: Vec<Layer>,
}

/// One lawful choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// What it is about.
    axis: &'static str,
    /// What is chosen.
    name: &'static str,
    /// Makes the choice.
    make: fn(&mut Build),
}

/// Every choice, the axes one after the other.
pub(crate) fn choices() -> Vec<Choice> {
    [combined(), bodies::CHOICES.to_vec()].concat()
}

/// The choices that are combined at random. Of a body that is hard to read nothing else depends on the choice.
fn combined() -> Vec<Choice> {
    [animals::CHOICES, answers::CHOICES, limits::CHOICES].concat()
}

impl Build {
    /// A server on a plan that makes these choices.
    fn new(plan: Plan, choices: &[Choice]) -> Build {
        let setting = Setting { plan, ..Setting::default() };
        let mut build = Build { setting, policy: None, view: View::default(), layers: Vec::new(), inside: Vec::new() };
        choices.iter().for_each(|choice| (choice.make)(&mut build));
        build
    }

    fn layer(&mut self, layer: Layer) {
        self.layers.push(layer);
    }

    fn inside(&mut self, layer: Layer) {
        self.inside.push(layer);
    }

    /// Changes the limiter, which then is no longer the reference's.
    fn limit(&mut self, change: impl FnOnce(&mut Policy)) {
        let limits = self.setting.plan.limits();
        let policy = Policy { per_minute: limits.per_minute, per_day: limits.per_day, ..FREE };
        change(self.policy.get_or_insert(policy));
    }

    /// Refuses the bodies of some creations.
    fn refuse(&mut self, which: impl Fn(&serde_json::Map<String, Value>) -> bool + Send + Sync + 'static) {
        self.layer(Layer::default().before(move |request, _| {
            if request.is_create() && request.object().is_some_and(|pet| which(&pet)) {
                // The reference refuses this one with 400.
                request.body = b"{}".to_vec();
            }
            None
        }));
    }

    /// The reference's setting and the layers, the outermost first.
    fn finish(mut self) -> (Setting, Vec<Layer>) {
        if let Some(policy) = self.policy {
            self.setting.plan = Plan::Enterprise;
            self.layers.push(limiter(policy));
        }
        self.layers.extend(self.inside);
        self.layers.extend(self.view.layers());
        (self.setting, self.layers)
    }
}
