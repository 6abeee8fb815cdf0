//! What was refused must not have happened: no later answer may show an animal that only a refused request named.

use std::collections::{HashMap, HashSet};

use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::{CreateBody, Operation};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("create.refused-stores-nothing", |d, j| stores_nothing(d, j, "400", |c| c.status() == Some(400)))
        .needing(Needs::BODIES.of_run()),
    // Whatever the status: without a valid key nothing may be created. A lawful status is another rule's concern.
    Rule::new("auth.refused-stores-nothing", |d, j| {
        stores_nothing(d, j, "no valid key", |c| c.credential.is_invalid());
    })
    .needing(Needs::BODIES.of_run()),
    Rule::new("quota.refused-stores-nothing", |d, j| {
        stores_nothing(d, j, "429", |c| c.status() == Some(429) && !c.credential.is_invalid());
    })
    .needing(Needs::BODIES.of_run()),
];

fn stores_nothing(
    &Facts { history, .. }: &Facts<'_>,
    judgement: &mut Judgement,
    why: &str,
    is_refused: fn(&Entry<'_>) -> bool,
) {
    let refusals: Vec<(&Entry<'_>, &str)> = history
        .creates()
        .filter(|(entry, _)| is_refused(entry))
        .filter_map(|(entry, body)| Some((entry, name(body)?)))
        .collect();
    if refusals.is_empty() {
        return;
    }
    let elsewhere: HashSet<&str> =
        history.creates().filter(|(entry, _)| !is_refused(entry)).filter_map(|(_, body)| name(body)).collect();
    let mut showings: HashMap<&str, Vec<&Entry<'_>>> = HashMap::new();
    for entry in &history.entries {
        for shown in entry.animals().into_iter().filter_map(Animal::name) {
            showings.entry(shown).or_default().push(entry);
        }
    }
    for (refused, name) in refusals {
        let shown = showings.get(name).map_or(&[][..], Vec::as_slice);
        let existed = shown.iter().any(|entry| entry.precedes(refused));
        if elsewhere.contains(name) || existed {
            continue;
        }
        match shown.iter().find(|entry| refused.precedes(entry)) {
            Some(entry) => judgement.fail(
                &[entry, refused],
                format!("no trace of an animal whose creation was refused ({why})"),
                format!("the animal {name:?} exists"),
            ),
            None if is_looked_for_after(history, refused) => judgement.hold(),
            None => {}
        }
    }
}

fn name(body: &CreateBody) -> Option<&str> {
    body.draft().and_then(|draft| draft.name.as_deref())
}

/// Whether animals were shown after a request. Where nothing was shown, nothing was seen to hold either; an empty list is a
/// showing.
fn is_looked_for_after(history: &History<'_>, refused: &Entry<'_>) -> bool {
    // From the end: where anything was shown afterwards, it is likely to be there.
    history.entries.iter().rev().filter(|entry| refused.precedes(entry)).any(|entry| {
        !entry.animals().is_empty() || matches!(entry.operation, Operation::List(_)) && entry.status() == Some(200)
    })
}

#[cfg(test)]
mod tests;
