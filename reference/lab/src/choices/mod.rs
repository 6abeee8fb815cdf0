//! Lawful choices: other behaviour that the specification allows.
//!
//! A choice belongs to an axis, and a server makes at most one on each. The server is lawful with any choices on the other axes.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::limiter::{Policy, limiter};
use super::members::Members;
use super::{Layer, Request, Response, Setting, Variation};

mod animals;
mod anonymous;
mod answers;
mod bodies;
mod connections;
mod intermediaries;
mod limits;
mod view;

/// Choices about callers without a key.
pub use anonymous::CHOICES as ANONYMOUS;
/// Choices about limits, whose outcome depends on the plan of a key.
pub use limits::CHOICES as LIMITS;
use view::View;

/// A server that is built from choices.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The reference behind the layers.
    setting: Setting,
    /// The limiter, if it is another than the reference's.
    policy: Option<Policy>,
    /// The view of lists and fetches on the animals.
    view: View,
    /// Layers around the limiter and the view.
    layers: Vec<Layer>,
    /// Layers that turn refusals into successes or the other way; the limiter counts their results.
    inside: Vec<Layer>,
}

/// The maker of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Maker {
    /// The plain reference, so that choosing it changes nothing.
    Reference,
    /// Other servers.
    Others,
    /// A circumstance that no server chooses, such as the time of day. A seed leaves it out.
    Circumstance,
    /// An intermediary between client and server, such as a gateway. A seed leaves it out.
    Intermediary,
}

/// One lawful choice.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    axis: &'static str,
    short: &'static str,
    /// The behaviour of the server with this choice, in one sentence.
    pub does: &'static str,
    /// The real servers that do this, or their reason for it.
    pub like: &'static str,
    /// The maker of the choice.
    pub maker: Maker,
    make: fn(&mut Build),
}

impl Choice {
    /// The name of the choice: the requirement that leaves it open, and a short name. It never changes.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.requirement(), self.short)
    }

    /// The requirement that leaves the choice open.
    #[must_use]
    pub fn requirement(&self) -> &'static str {
        self.axis.split('/').next().unwrap_or(self.axis)
    }

    /// The axis: a server makes at most one choice on each axis. Some requirements have several axes.
    #[must_use]
    pub fn axis(&self) -> &'static str {
        self.axis
    }
}

/// A choice that the reference makes.
const fn own(axis: &'static str, short: &'static str, does: &'static str) -> Choice {
    Choice { axis, short, does, like: "this reference", maker: Maker::Reference, make: |_| {} }
}

/// A choice that other servers make.
const fn other(axis: &'static str, short: &'static str) -> Choice {
    Choice { maker: Maker::Others, ..own(axis, short, "") }
}

/// A circumstance of a server.
const fn circumstance(axis: &'static str, short: &'static str) -> Choice {
    Choice { maker: Maker::Circumstance, like: "any server in use", ..own(axis, short, "") }
}

/// The behaviour of an intermediary between client and server.
const fn between(axis: &'static str, short: &'static str) -> Choice {
    Choice { maker: Maker::Intermediary, ..own(axis, short, "") }
}

impl Choice {
    /// Says what the server does, in one sentence.
    const fn does(self, does: &'static str) -> Choice {
        Choice { does, ..self }
    }

    /// Names the real servers that do this, or their reason for it.
    const fn like(self, like: &'static str) -> Choice {
        Choice { like, ..self }
    }

    /// Sets the function that makes the choice.
    const fn make(self, make: fn(&mut Build)) -> Choice {
        Choice { make, ..self }
    }
}

/// Every choice; the choices on one axis are in a row.
#[must_use]
pub fn choices() -> Vec<Choice> {
    [
        animals::CHOICES,
        anonymous::CHOICES,
        answers::CHOICES,
        bodies::CHOICES,
        connections::CHOICES,
        intermediaries::CHOICES,
        limits::CHOICES,
    ]
    .concat()
}

/// The choices by their axes, in the order of the table.
fn axes() -> Vec<Vec<Choice>> {
    let mut axes: Vec<Vec<Choice>> = Vec::new();
    for choice in choices() {
        match axes.iter_mut().find(|choices| choices[0].axis == choice.axis) {
            Some(choices) => choices.push(choice),
            None => axes.push(vec![choice]),
        }
    }
    axes
}

/// The choices that a seed draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Choices of servers only.
    Choices,
    /// Choices of servers, and circumstances.
    ChoicesAndCircumstances,
}

/// The choices that a seed makes: one on each axis. Each axis is drawn by itself, so that a new one changes no other.
#[must_use]
pub fn lawful(seed: u64, drawn: Drawn) -> Vec<Choice> {
    let mut vector = Vec::new();
    for mut choices in axes() {
        choices.retain(|choice| choice.maker != Maker::Intermediary);
        let random = draw(seed, choices[0].axis);
        let is_circumstance = choices[0].maker == Maker::Circumstance;
        let options = choices.len() as u64 + u64::from(is_circumstance);
        let choice = choices.get((random % options) as usize).copied();
        vector.extend(choice.filter(|_| !is_circumstance || drawn == Drawn::ChoicesAndCircumstances));
    }
    vector
}

/// A random number that depends on a seed and an axis, and on nothing else, not even on the version of a crate.
fn draw(seed: u64, axis: &str) -> u64 {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(axis).finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Build {
    /// A server that makes these choices.
    #[must_use]
    pub fn new(choices: &[Choice]) -> Build {
        let mut build = Build::default();
        choices.iter().for_each(|choice| (choice.make)(&mut build));
        build
    }

    fn layer(&mut self, layer: Layer) {
        self.layers.push(layer);
    }

    /// Adds a layer that stands around all others, faults among them.
    fn between(&mut self, layer: Layer) {
        self.layers.push(Layer { outermost: true, ..layer });
    }

    /// Changes responses.
    fn after(&mut self, change: impl Fn(&Request, &mut Response) + Send + Sync + 'static) {
        self.layer(Layer::default().after(move |request, response, _| change(request, response)));
    }

    /// Changes responses with this status to some requests.
    fn answered(
        &mut self,
        status: u16,
        which: impl Fn(&Request) -> bool + Send + Sync + 'static,
        change: impl Fn(&mut Response) + Send + Sync + 'static,
    ) {
        self.after(move |request, response| {
            if response.status == status && which(request) {
                change(response);
            }
        });
    }

    /// Answers some requests with the status `to`, where the reference answers with the status `from`.
    fn turns(&mut self, from: u16, to: u16, which: impl Fn(&Request) -> bool + Send + Sync + 'static) {
        self.answered(from, which, move |response| response.refuse(to));
    }

    /// Changes every animal that a response shows.
    fn shows(&mut self, change: impl Fn(&mut Members) + Send + Sync + 'static) {
        self.after(move |_, response| response.edit_pets(&change));
    }

    /// Changes responses inside the limiter, which counts the results.
    fn after_inside(&mut self, change: impl Fn(&Request, &mut Response) + Send + Sync + 'static) {
        self.inside.push(Layer::default().after(move |request, response, _| change(request, response)));
    }

    /// Changes requests.
    fn edit(&mut self, edit: impl Fn(&mut Request) + Send + Sync + 'static) {
        self.layer(Layer::default().before(move |request, _| {
            edit(request);
            None
        }));
    }

    /// Changes the members of created animals before the reference reads them.
    fn edit_created(&mut self, edit: impl Fn(&mut Members) + Send + Sync + 'static) {
        self.edit(move |request| request.edit_object(&edit));
    }

    /// Changes the limiter, which then is no longer the reference's.
    fn limit(&mut self, change: impl FnOnce(&mut Policy)) {
        change(self.policy.get_or_insert_default());
    }

    /// Refuses the bodies of some creations.
    fn refuse(&mut self, which: impl Fn(&Members) -> bool + Send + Sync + 'static) {
        self.edit(move |request| {
            if request.is_create() && request.object().is_some_and(|pet| which(&pet)) {
                // The reference refuses this one with 400.
                request.body = b"{}".to_vec();
            }
        });
    }

    /// The reference's setting and the layers.
    #[must_use]
    pub fn finish(mut self) -> Variation {
        if let Some(policy) = self.policy {
            self.setting.counts_in_layer = true;
            self.layers.push(limiter(policy));
        }
        self.layers.extend(self.inside);
        self.layers.extend(self.view.layers());
        self.layers.sort_by_key(|layer| !layer.outermost);
        Variation { setting: self.setting, layers: self.layers }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_each_axis_has_a_plain_choice_first_or_is_about_circumstances() {
        let mut names = HashSet::new();
        for choice in choices() {
            assert!(names.insert(choice.name()), "two choices are called {}", choice.name());
            assert!(choice.does.ends_with('.'), "{}: {}", choice.name(), choice.does);
        }
        for axis in axes() {
            let makers: Vec<Maker> = axis.iter().map(|choice| choice.maker).collect();
            let is_circumstance = makers.iter().all(|maker| *maker == Maker::Circumstance);
            let others = |other: Maker| makers[1..].iter().all(|maker| *maker == other);
            let has_plain = makers[0] == Maker::Reference && (others(Maker::Others) || others(Maker::Intermediary));
            assert!(is_circumstance || has_plain && makers.len() > 1, "{}: {makers:?}", axis[0].axis);
        }
    }

    #[test]
    fn a_seed_makes_the_same_choice_on_every_axis_and_seeds_together_make_all() {
        let names = |seed| lawful(seed, Drawn::Choices).iter().map(Choice::name).collect::<Vec<_>>();
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        let mut drawn = HashSet::new();
        for seed in 0..100 {
            let vector = lawful(seed, Drawn::ChoicesAndCircumstances);
            drawn.extend(vector.iter().map(Choice::name));
            let axes: HashSet<&str> = vector.iter().map(Choice::axis).collect();
            assert_eq!(axes.len(), vector.len(), "seed {seed} makes two choices on one axis");
        }
        for choice in choices().into_iter().filter(|choice| choice.maker != Maker::Intermediary) {
            assert!(drawn.contains(&choice.name()), "no seed makes {}", choice.name());
        }
    }

    #[test]
    fn times_at_which_a_clock_starts_are_times() {
        for choice in choices() {
            let start_at = Build::new(&[choice]).setting.start_at;
            assert!(start_at.is_none_or(|time| time.parse::<jiff::Timestamp>().is_ok()), "{}", choice.name());
        }
    }
}
