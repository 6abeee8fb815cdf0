//! List all animals. The laws hold for any order, any catalogue and any reading of a bad parameter.

use std::collections::HashSet;

use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::{Credential, ListQuery, Operation, Parameter};
use crate::rules::{Judgement, Rule, answered};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("list.success", success),
    Rule::new("list.array", array),
    Rule::new("list.limit-minimum", limit_minimum),
    Rule::new("list.limit-maximum", limit_maximum),
    Rule::new("list.limit-default", limit_default).excused_by_lag(),
    Rule::new("list.limit-honoured", limit_honoured),
    Rule::new("list.status-filter", status_filter),
    Rule::new("list.complete", complete).excused_by_lag(),
    Rule::new("list.unique", unique),
    Rule::new("list.agrees", agrees),
    Rule::new("list.bad-parameters", bad_parameters),
];

/// Lists with a valid key that were not refused for the rate.
fn admitted<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, &'d ListQuery)> {
    history.lists().filter(|(entry, _)| entry.key().is_some() && !matches!(entry.status(), None | Some(429)))
}

/// Lists that were answered with 200 and an array.
fn arrays<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, &'d ListQuery, Vec<Animal<'d>>)> {
    history
        .lists()
        .filter(|(entry, _)| entry.status() == Some(200) && matches!(entry.value(), Some(Json::Array(_))))
        .map(|(entry, query)| (entry, query, entry.animals()))
}

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history).filter(|(_, query)| query.is_lawful()) {
        judgement.require_lawful(history, entry, "a valid list request");
    }
    // A key under `bearer` may be accepted or refused, and is no reason to fail otherwise.
    let ambiguous =
        history.lists().filter(|(entry, query)| entry.credential == Credential::Ambiguous && query.is_lawful());
    for (entry, _) in ambiguous.filter(|(entry, _)| !matches!(entry.status(), None | Some(429))) {
        judgement.require_lawful(history, entry, "a valid list request whose scheme is written differently");
    }
}

fn array(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in history.lists().filter(|(entry, _)| entry.status() == Some(200)) {
        let Some(json) = entry.value() else { continue };
        let stranger = match json {
            Json::Array(items) => items.iter().find(|item| !matches!(item, Json::Object(_))),
            other => Some(other),
        };
        judgement.require(entry, stranger.is_none(), "an array of animals, bare", || match json {
            Json::Array(_) => format!("{} in the array", stranger.map_or("nothing", Json::kind)),
            Json::Object(members) => {
                let names: Vec<&str> = members.iter().take(4).map(|(name, _)| name.as_str()).collect();
                format!("an object with the members {}", names.join(", "))
            }
            other => other.kind().to_owned(),
        });
    }
}

fn limit_minimum(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(1)) {
        let held = entry.status() == Some(200) && entry.animals().len() <= 1;
        judgement.require(entry, held, "200 and at most one animal for limit=1", || counted(entry));
    }
}

fn limit_maximum(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(100)) {
        judgement.require(entry, entry.status() == Some(200), "200 for limit=100", || counted(entry));
    }
    for (entry, _, animals) in arrays(history) {
        judgement.require(entry, animals.len() <= 100, "never more than 100 animals", || counted(entry));
    }
}

fn counted(entry: &Entry<'_>) -> String {
    match entry.status() {
        Some(200) => format!("{} animals", entry.animals().len()),
        _ => answered(entry),
    }
}

fn limit_default(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history).filter(|(_, q, _)| q.is_lawful() && q.limit == Parameter::Absent) {
        judgement.require(entry, animals.len() <= 20, "at most 20 animals without a limit", || counted(entry));
        if query.status == Parameter::Absent {
            let known = expected_among(history, entry, query).len();
            let full = animals.len() >= 20.min(known);
            judgement.require(entry, full, "20 animals without a limit, when there are so many", || {
                format!("{}, although {known} are known to exist", counted(entry))
            });
        }
    }
}

fn limit_honoured(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history) {
        if let Parameter::Lawful(limit) = query.limit {
            judgement.require(entry, animals.len() <= limit, format!("at most {limit} animals"), || counted(entry));
        }
    }
}

fn status_filter(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history) {
        let wanted = match &query.status {
            Parameter::Lawful(status) => status,
            // An unknown word may be refused or match nothing. An empty or encoded one may be read as something else.
            Parameter::Ambiguous(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) => text,
            _ => continue,
        };
        let stranger = animals.iter().find(|animal| animal.status() != Some(wanted));
        judgement.require(entry, stranger.is_none(), format!("only animals with the status \"{wanted}\""), || {
            match stranger.and_then(|animal| animal.0.get("status")) {
                Some(Json::String(status)) => format!("an animal with the status \"{status}\""),
                Some(other) => format!("an animal whose status is {}", other.kind()),
                None => "an animal without a status".to_owned(),
            }
        });
    }
}

/// The ids of animals that a list with this query must show, unless the limit leaves no room.
fn expected_among(history: &History<'_>, entry: &Entry<'_>, query: &ListQuery) -> HashSet<i64> {
    let matches = |animal: Animal<'_>| match &query.status {
        Parameter::Absent => true,
        Parameter::Lawful(status) => animal.status() == Some(status),
        Parameter::Ambiguous(_) | Parameter::Repeated => false,
    };
    let own_only = query.status != Parameter::Absent && history.others_change;
    history
        .sightings
        .keys()
        .copied()
        .filter(|&id| (!own_only || history.is_own(id)) && history.is_settled(id, entry))
        .filter(|&id| history.known(id, entry).is_some_and(|(_, animal)| matches(animal)))
        .collect()
}

fn complete(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history).filter(|(_, query, _)| query.is_lawful()) {
        let Some(bound) = query.bound() else { continue };
        if animals.len() >= bound {
            judgement.hold();
            continue;
        }
        let shown: HashSet<i64> = animals.iter().filter_map(|animal| animal.id()).collect();
        let missing = expected_among(history, entry, query).into_iter().filter(|id| !shown.contains(id)).min();
        let expected = "every matching animal that is known to exist, as long as the limit leaves room";
        match missing {
            None => judgement.hold(),
            Some(id) => {
                let witness = history.known(id, entry).map(|(witness, _)| witness);
                let entries: Vec<&Entry<'_>> = std::iter::once(entry).chain(witness).collect();
                let found = format!("{} of at most {bound}, and the animal {id} is not among them", counted(entry));
                judgement.fail(&entries, expected, found);
            }
        }
    }
}

fn unique(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _, animals) in arrays(history) {
        let mut seen = HashSet::new();
        let twice = animals.iter().filter_map(|animal| animal.id()).find(|id| !seen.insert(*id));
        judgement.require(entry, twice.is_none(), "each animal at most once", || {
            format!("the animal {} is listed twice", twice.unwrap_or_default())
        });
    }
}

fn agrees(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _, animals) in arrays(history) {
        for animal in animals {
            compare_with_known(history, entry, animal, judgement);
        }
    }
}

/// Requires that an animal is the one that earlier answers showed under its id.
pub(crate) fn compare_with_known(
    history: &History<'_>,
    entry: &Entry<'_>,
    animal: Animal<'_>,
    judgement: &mut Judgement,
) {
    let Some((id, (first, known))) = animal.id().and_then(|id| Some((id, history.known(id, entry)?))) else { return };
    // A default may be filled in later than the creation. How an animal changes is not given: what this run has created nobody
    // else knows, but somebody else's may be pending now and sold the next moment. Its name and category are held against an
    // answer only if a later one shows them as they were.
    let is_own = matches!(first.operation, Operation::Create(_));
    let is_alike = |other: Animal<'_>| other.name() == known.name() && other.category_id() == known.category_id();
    if !is_own && !is_alike(animal) && !history.is_seen_after(id, entry, is_alike) {
        return;
    }
    let may_change = if is_own { known.status().is_none() } else { animal.status().is_some() };
    let difference = if animal.name() != known.name() {
        Some(format!("name {:?} instead of {:?}", animal.name().unwrap_or(""), known.name().unwrap_or("")))
    } else if animal.category_id() != known.category_id() {
        let show = |category: Option<i64>| {
            category.map_or_else(|| "a value that is not an int64".to_owned(), |id| id.to_string())
        };
        Some(format!("categoryId {} instead of {}", show(animal.category_id()), show(known.category_id())))
    } else if !may_change && animal.status() != known.status() {
        let show = |status: Option<&str>| status.map_or_else(|| "none".to_owned(), |status| format!("\"{status}\""));
        Some(format!("status {} instead of {}", show(animal.status()), show(known.status())))
    } else {
        None
    };
    match difference {
        None => judgement.hold(),
        Some(difference) => judgement.fail(&[entry, first], "the same animal as in earlier answers", difference),
    }
}

fn bad_parameters(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history).filter(|(_, query)| !query.is_lawful() && !query.unknown) {
        judgement.require_lawful(history, entry, "a parameter that may be clamped, ignored or refused");
    }
}

#[cfg(test)]
mod tests;
