//! What was refused must not have happened: no later answer may show an animal that only a refused request named.

use std::collections::{HashMap, HashSet};

use crate::history::{Animal, Case, Docket};
use crate::request::{CreateBody, Operation};
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule {
        id: "create.refused-stores-nothing",
        judge: |d, j| stores_nothing(d, j, "400", |c| c.status() == Some(400)),
    },
    Rule {
        id: "auth.refused-stores-nothing",
        // Whatever the status: without a valid key nothing may be created. A lawful status is another rule's concern.
        judge: |d, j| stores_nothing(d, j, "no valid key", |c| c.access.is_lacking()),
    },
    Rule {
        id: "quota.refused-stores-nothing",
        judge: |d, j| stores_nothing(d, j, "429", |c| c.status() == Some(429) && !c.access.is_lacking()),
    },
];

fn stores_nothing(docket: &Docket<'_>, judgement: &mut Judgement, why: &str, is_refused: fn(&Case<'_>) -> bool) {
    let refusals: Vec<(&Case<'_>, &str)> = docket
        .creates()
        .filter(|(case, _)| is_refused(case))
        .filter_map(|(case, body)| Some((case, name(body)?)))
        .collect();
    if refusals.is_empty() {
        return;
    }
    let elsewhere: HashSet<&str> =
        docket.creates().filter(|(case, _)| !is_refused(case)).filter_map(|(_, body)| name(body)).collect();
    let mut showings: HashMap<&str, Vec<&Case<'_>>> = HashMap::new();
    for case in &docket.cases {
        for shown in case.animals().into_iter().filter_map(Animal::name) {
            showings.entry(shown).or_default().push(case);
        }
    }
    for (refused, name) in refusals {
        let shown = showings.get(name).map_or(&[][..], Vec::as_slice);
        let existed = shown.iter().any(|case| case.precedes(refused));
        if elsewhere.contains(name) || existed {
            continue;
        }
        match shown.iter().find(|case| refused.precedes(case)) {
            Some(case) => judgement.fail(
                &[case, refused],
                format!("no trace of an animal whose creation was refused ({why})"),
                format!("the animal {name:?} exists"),
            ),
            None if is_looked_for_after(docket, refused) => judgement.hold(),
            None => {}
        }
    }
}

fn name(body: &CreateBody) -> Option<&str> {
    body.draft().and_then(|draft| draft.name.as_deref())
}

/// Whether animals were shown after a request. Where nothing was shown, nothing was seen to hold either; an empty list is a
/// showing.
fn is_looked_for_after(docket: &Docket<'_>, refused: &Case<'_>) -> bool {
    // From the end: where anything was shown afterwards, it is likely to be there.
    docket.cases.iter().rev().filter(|case| refused.precedes(case)).any(|case| {
        !case.animals().is_empty() || matches!(case.operation, Operation::List(_)) && case.status() == Some(200)
    })
}

#[cfg(test)]
mod tests;
