//! List all animals. The laws hold for any order, any catalogue and any reading of a bad parameter.

use std::collections::HashSet;

use crate::history::{Animal, Case, Docket};
use crate::request::{Access, ListQuery, Operation, Parameter};
use crate::rules::{Judgement, Rule, answered};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule { id: "list.success", judge: success },
    Rule { id: "list.array", judge: array },
    Rule { id: "list.limit-minimum", judge: limit_minimum },
    Rule { id: "list.limit-maximum", judge: limit_maximum },
    Rule { id: "list.limit-default", judge: limit_default },
    Rule { id: "list.limit-honoured", judge: limit_honoured },
    Rule { id: "list.status-filter", judge: status_filter },
    Rule { id: "list.complete", judge: complete },
    Rule { id: "list.unique", judge: unique },
    Rule { id: "list.agrees", judge: agrees },
    Rule { id: "list.bad-parameters", judge: bad_parameters },
];

/// Lists with a valid key that were not refused for the rate.
fn admitted<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = (&'d Case<'d>, &'d ListQuery)> {
    docket.lists().filter(|(case, _)| case.key().is_some() && !matches!(case.status(), None | Some(429)))
}

/// Lists that were answered with 200 and an array.
fn arrays<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = (&'d Case<'d>, &'d ListQuery, Vec<Animal<'d>>)> {
    docket
        .lists()
        .filter(|(case, _)| case.status() == Some(200) && matches!(case.value(), Some(Json::Array(_))))
        .map(|(case, query)| (case, query, case.animals()))
}

fn success(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in admitted(docket).filter(|(_, query)| query.is_lawful()) {
        judgement.require(case, case.status() == Some(200), "200 for a lawful list", || answered(case));
    }
    // A key under `bearer` may be taken or refused, and is nothing else to fail for.
    let debatable = docket.lists().filter(|(case, query)| case.access == Access::Debatable && query.is_lawful());
    for (case, _) in debatable.filter(|(case, _)| !matches!(case.status(), None | Some(429))) {
        let lawful = matches!(case.status(), Some(200 | 401));
        judgement.require(case, lawful, "200 for a lawful list, or 401 if the scheme is refused", || answered(case));
    }
}

fn array(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in docket.lists().filter(|(case, _)| case.status() == Some(200)) {
        let Some(json) = case.value() else { continue };
        let stranger = match json {
            Json::Array(items) => items.iter().find(|item| !matches!(item, Json::Object(_))),
            other => Some(other),
        };
        judgement.require(case, stranger.is_none(), "an array of animals, bare", || match json {
            Json::Array(_) => format!("{} in the array", stranger.map_or("nothing", Json::kind)),
            Json::Object(members) => {
                let names: Vec<&str> = members.iter().take(4).map(|(name, _)| name.as_str()).collect();
                format!("an object with the members {}", names.join(", "))
            }
            other => other.kind().to_owned(),
        });
    }
}

fn limit_minimum(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in admitted(docket).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(1)) {
        let held = case.status() == Some(200) && case.animals().len() <= 1;
        judgement.require(case, held, "200 and at most one animal for limit=1", || counted(case));
    }
}

fn limit_maximum(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in admitted(docket).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(100)) {
        judgement.require(case, case.status() == Some(200), "200 for limit=100", || counted(case));
    }
    for (case, _, animals) in arrays(docket) {
        judgement.require(case, animals.len() <= 100, "never more than 100 animals", || counted(case));
    }
}

fn counted(case: &Case<'_>) -> String {
    match case.status() {
        Some(200) => format!("{} animals", case.animals().len()),
        _ => answered(case),
    }
}

fn limit_default(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, query, animals) in arrays(docket).filter(|(_, q, _)| q.is_lawful() && q.limit == Parameter::Absent) {
        judgement.require(case, animals.len() <= 20, "at most 20 animals without a limit", || counted(case));
        if query.status == Parameter::Absent {
            let known = expected_among(docket, case, query).len();
            let full = animals.len() >= 20.min(known);
            judgement.require(case, full, "20 animals without a limit, when there are so many", || {
                format!("{}, although {known} are known to exist", counted(case))
            });
        }
    }
}

fn limit_honoured(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, query, animals) in arrays(docket) {
        if let Parameter::Lawful(limit) = query.limit {
            judgement.require(case, animals.len() <= limit, format!("at most {limit} animals"), || counted(case));
        }
    }
}

fn status_filter(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, query, animals) in arrays(docket) {
        let wanted = match &query.status {
            Parameter::Lawful(status) => status,
            // An unknown word may be refused or match nothing. An empty or encoded one may be read as something else.
            Parameter::Debatable(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) => text,
            _ => continue,
        };
        let stranger = animals.iter().find(|animal| animal.status() != Some(wanted));
        judgement.require(case, stranger.is_none(), format!("only animals with the status \"{wanted}\""), || {
            match stranger.and_then(|animal| animal.0.get("status")) {
                Some(Json::String(status)) => format!("an animal with the status \"{status}\""),
                Some(other) => format!("an animal whose status is {}", other.kind()),
                None => "an animal without a status".to_owned(),
            }
        });
    }
}

/// The ids of animals that a list with this query must show, unless the limit leaves no room.
fn expected_among(docket: &Docket<'_>, case: &Case<'_>, query: &ListQuery) -> HashSet<i64> {
    let matches = |animal: Animal<'_>| match &query.status {
        Parameter::Absent => true,
        Parameter::Lawful(status) => animal.status() == Some(status),
        Parameter::Debatable(_) | Parameter::Repeated => false,
    };
    let own_only = query.status != Parameter::Absent && docket.others_change;
    docket
        .sightings
        .keys()
        .copied()
        .filter(|&id| (!own_only || docket.is_own(id)) && docket.is_settled(id, case))
        .filter(|&id| docket.known(id, case).is_some_and(|(_, animal)| matches(animal)))
        .collect()
}

fn complete(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, query, animals) in arrays(docket).filter(|(_, query, _)| query.is_lawful()) {
        let Some(bound) = query.bound() else { continue };
        if animals.len() >= bound {
            judgement.hold();
            continue;
        }
        let shown: HashSet<i64> = animals.iter().filter_map(|animal| animal.id()).collect();
        let missing = expected_among(docket, case, query).into_iter().filter(|id| !shown.contains(id)).min();
        let expected = "every matching animal that is known to exist, as long as the limit leaves room";
        match missing {
            None => judgement.hold(),
            Some(id) => {
                let witness = docket.known(id, case).map(|(witness, _)| witness);
                let cases: Vec<&Case<'_>> = std::iter::once(case).chain(witness).collect();
                let found = format!("{} of at most {bound}, and the animal {id} is not among them", counted(case));
                judgement.fail(&cases, expected, found);
            }
        }
    }
}

fn unique(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _, animals) in arrays(docket) {
        let mut seen = HashSet::new();
        let twice = animals.iter().filter_map(|animal| animal.id()).find(|id| !seen.insert(*id));
        judgement.require(case, twice.is_none(), "each animal at most once", || {
            format!("the animal {} stands twice", twice.unwrap_or_default())
        });
    }
}

fn agrees(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _, animals) in arrays(docket) {
        for animal in animals {
            compare_with_known(docket, case, animal, judgement);
        }
    }
}

/// Requires that an animal is the one that earlier answers showed under its id.
pub(crate) fn compare_with_known(docket: &Docket<'_>, case: &Case<'_>, animal: Animal<'_>, judgement: &mut Judgement) {
    let Some((id, (first, known))) = animal.id().and_then(|id| Some((id, docket.known(id, case)?))) else { return };
    // A default may be filled in later than the creation. How an animal changes is not given: what this run has created nobody
    // else knows, but somebody else's may be pending now and sold the next moment. Its name and category are held against an
    // answer only if a later one shows them as they were.
    let is_own = matches!(first.operation, Operation::Create(_));
    let is_alike = |other: Animal<'_>| other.name() == known.name() && other.category_id() == known.category_id();
    if !is_own && !is_alike(animal) && !docket.is_seen_after(id, case, is_alike) {
        return;
    }
    let may_change = if is_own { known.status().is_none() } else { animal.status().is_some() };
    let difference = if animal.name() != known.name() {
        Some(format!("name {:?} instead of {:?}", animal.name().unwrap_or(""), known.name().unwrap_or("")))
    } else if animal.category_id() != known.category_id() {
        let show = |category: Option<i64>| category.map_or_else(|| "no int64".to_owned(), |id| id.to_string());
        Some(format!("categoryId {} instead of {}", show(animal.category_id()), show(known.category_id())))
    } else if !may_change && animal.status() != known.status() {
        let show = |status: Option<&str>| status.map_or_else(|| "none".to_owned(), |status| format!("\"{status}\""));
        Some(format!("status {} instead of {}", show(animal.status()), show(known.status())))
    } else {
        None
    };
    match difference {
        None => judgement.hold(),
        Some(difference) => judgement.fail(&[case, first], "the same animal as in earlier answers", difference),
    }
}

fn bad_parameters(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in admitted(docket).filter(|(_, query)| !query.is_lawful() && !query.unknown) {
        let lawful = matches!(case.status(), Some(200 | 400));
        judgement.require(case, lawful, "200, or 400 for a parameter that is refused", || answered(case));
    }
}

#[cfg(test)]
mod tests;
