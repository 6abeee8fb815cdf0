//! Refused requests must have no effect: no later response may show an animal that only a refused request named.

use std::collections::{HashMap, HashSet};

use super::create::normalised;
use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("create.refused-stores-nothing", |d, j| {
        stores_nothing(d, j, "400", |c| is_creation(c) && c.status() == Some(400));
    })
    .needing(Needs::BODIES.of_run()),
    // Without a valid key nothing may be created, at any path and with any status code. Other rules judge the status code.
    Rule::new("auth.refused-stores-nothing", |d, j| {
        stores_nothing(d, j, "no valid key", |c| c.credential.is_invalid());
    })
    .needing(Needs::BODIES.of_run()),
    Rule::new("quota.refused-stores-nothing", |d, j| {
        stores_nothing(d, j, "429", |c| is_creation(c) && c.status() == Some(429) && !c.credential.is_invalid());
    })
    .needing(Needs::BODIES.of_run()),
];

fn stores_nothing(
    &Facts { history, .. }: &Facts<'_>,
    judgement: &mut Judgement,
    why: &'static str,
    is_refused: fn(&Entry<'_>) -> bool,
) {
    let refused = history.entries.iter().filter(|entry| is_refused(entry));
    let refusals: Vec<(&Entry<'_>, String)> = refused.filter_map(|entry| Some((entry, name_in(entry)?))).collect();
    if refusals.is_empty() {
        return;
    }
    let others = history.entries.iter().filter(|entry| !is_refused(entry)).filter_map(name_in);
    // An animal that was sent as " " may be stored as "".
    let elsewhere: HashSet<String> = others.flat_map(|name| [normalised(&name), name]).collect();
    let mut showings: HashMap<&str, Vec<&Entry<'_>>> = HashMap::new();
    for entry in &history.entries {
        for shown in entry.animals().into_iter().filter_map(Animal::name) {
            showings.entry(shown).or_default().push(entry);
        }
    }
    for (refused, name) in &refusals {
        let shown = showings.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let existed = shown.iter().any(|entry| entry.precedes(refused));
        if elsewhere.contains(name) || existed {
            continue;
        }
        match shown.iter().find(|entry| refused.precedes(entry)) {
            Some(entry) => judgement.fail(
                &[entry, refused],
                sentence!("no trace of an animal whose creation was refused ({})", why),
                sentence!("the animal {} exists", format!("{:?}", name)),
            ),
            None if is_followed_by_a_read(history, refused) => judgement.hold(),
            None => {}
        }
    }
}

fn is_creation(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::Create(_))
}

/// The name of the animal that a request would create, also at another path, such as `/pets/`.
fn name_in(entry: &Entry<'_>) -> Option<String> {
    let request = &entry.exchange.request;
    match &entry.operation {
        Operation::Create(body) if body.draft().is_some() => body.draft()?.name.clone(),
        Operation::Create(_) | Operation::Elsewhere => {
            Json::parse(&request.body.as_ref()?.bytes).ok()?.get("name")?.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// Returns true if a later response shows animals, or an empty list. Otherwise no response could have shown the animal.
fn is_followed_by_a_read(history: &History<'_>, refused: &Entry<'_>) -> bool {
    // The search begins at the end, where a later read is most likely.
    history.entries.iter().rev().filter(|entry| refused.precedes(entry)).any(|entry| {
        !entry.animals().is_empty() || matches!(entry.operation, Operation::List(_)) && entry.status() == Some(200)
    })
}

#[cfg(test)]
mod tests;
