//! Lawful choices: other behaviour that the specification allows.
//!
//! A choice belongs to an axis, and a server makes at most one on each. The server is lawful with any choices on the other axes.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::build::{Build, Builds, at, failure, of};
use super::members::{Members, set};
use super::{Layer, Variation};

mod animals;
mod anonymous;
mod answers;
mod bodies;
mod intermediaries;
mod keys;
mod limits;

/// Choices about callers without a key.
pub use anonymous::choices as about_anonymous;
/// Choices about limits, whose outcome depends on the plan of a key.
pub use limits::choices as about_limits;

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
#[derive(Clone)]
pub struct Choice {
    axis: &'static str,
    short: &'static str,
    /// The behaviour of the server with this choice, in one sentence.
    pub does: &'static str,
    /// A product that does this; empty for none.
    pub like: &'static str,
    /// The maker of the choice.
    pub maker: Maker,
    build: Build,
}

impl Builds for Choice {
    fn build(&mut self) -> &mut Build {
        &mut self.build
    }

    /// Adds a layer. An intermediary stands around all layers of the server, faults among them.
    fn layer(mut self, layer: Layer) -> Choice {
        self.build.outside.push(Layer { outermost: self.maker == Maker::Intermediary, ..layer });
        self
    }
}

impl Choice {
    /// The name of the choice: the requirement that leaves it open, and a short name. It never changes.
    pub fn name(&self) -> String {
        format!("{}.{}", self.requirement(), self.short)
    }

    /// The requirement that leaves the choice open.
    pub fn requirement(&self) -> &'static str {
        self.axis.split('/').next().unwrap_or(self.axis)
    }

    /// Returns true if the server serves its client no longer after some requests, which is lawful.
    pub fn ends_access(&self) -> bool {
        self.axis == keys::AXIS && self.maker != Maker::Reference
    }

    /// The axis: a server makes at most one choice on each axis. Some requirements have several axes.
    pub fn axis(&self) -> &'static str {
        self.axis
    }
}

/// A choice that the reference makes.
fn own(axis: &'static str, short: &'static str, does: &'static str) -> Choice {
    Choice { axis, short, does, like: "", maker: Maker::Reference, build: Build::default() }
}

/// A choice that other servers make.
fn other(axis: &'static str, short: &'static str, does: &'static str) -> Choice {
    Choice { maker: Maker::Others, ..own(axis, short, does) }
}

/// A circumstance of a server.
fn circumstance(axis: &'static str, short: &'static str, does: &'static str) -> Choice {
    Choice { maker: Maker::Circumstance, ..own(axis, short, does) }
}

/// The behaviour of an intermediary between client and server.
fn between(axis: &'static str, short: &'static str, does: &'static str) -> Choice {
    Choice { maker: Maker::Intermediary, ..own(axis, short, does) }
}

impl Choice {
    /// Names a product that does this.
    fn like(self, like: &'static str) -> Choice {
        Choice { like, ..self }
    }
}

/// Every choice; the choices on one axis are in a row.
pub fn choices() -> Vec<Choice> {
    [
        animals::choices(),
        anonymous::choices(),
        answers::choices(),
        bodies::choices(),
        intermediaries::choices(),
        keys::choices(),
        limits::choices(),
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
pub fn lawful(seed: u64, drawn: Drawn) -> Vec<Choice> {
    let mut vector = Vec::new();
    for mut choices in axes() {
        choices.retain(|choice| choice.maker != Maker::Intermediary);
        let random = draw(seed, choices[0].axis);
        let is_circumstance = choices[0].maker == Maker::Circumstance;
        let options = choices.len() as u64 + u64::from(is_circumstance);
        let choice = choices.into_iter().nth((random % options) as usize);
        vector.extend(choice.filter(|_| !is_circumstance || drawn == Drawn::ChoicesAndCircumstances));
    }
    vector
}

/// A random number that depends on a seed and an axis, and on nothing else, not even on the version of a crate.
fn draw(seed: u64, axis: &str) -> u64 {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(axis).finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A server that makes these choices.
pub fn variation(choices: &[Choice]) -> Variation {
    let mut whole = Build::default();
    for (number, choice) in choices.iter().enumerate() {
        whole.add(choice.build.clone(), number + 1);
    }
    whole.finish()
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
            let start_at = variation(std::slice::from_ref(&choice)).setting.start_at;
            assert!(start_at.is_none_or(|time| time.parse::<jiff::Timestamp>().is_ok()), "{}", choice.name());
        }
    }
}
