//! Get an animal, for as long as the operation exists.

use super::admitted;
use super::list::compare_with_known;
use crate::facts::Facts;
use crate::history::{Animal, Entry, Era};
use crate::request::PetId;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("get.success", success).needing(Needs::ANIMALS).excused_by_lag(),
    Rule::new("get.agrees", agrees).needing(Needs::ANIMALS),
    Rule::new("get.not-found", not_found).needing(Needs::ANIMALS),
    Rule::new("get.malformed-id", malformed_id).needing(Needs::ANIMALS),
];

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, id) in admitted(history.gets()) {
        let PetId::Int64(id) = id else { continue };
        let Some(status) = entry.status().filter(|_| history.known(id, entry).is_some()) else { continue };
        let shown = entry.animals().first().and_then(|animal| animal.id());
        let expected = sentence!("200 and the animal {}", id);
        if status == 200 && shown != Some(id) {
            judgement.fail(&[entry], expected, shown_instead(entry));
        } else if !history.expectation(entry).admits(status) {
            judgement.fail(&[entry], expected, answered(entry));
        } else if status == 200 || history.era(entry) != Era::Before {
            judgement.hold();
        }
        // The other lawful response is 404 for an animal that need not be readable yet. It shows nothing.
    }
}

/// The contents of a response that does not show the animal that was asked for.
fn shown_instead(entry: &Entry<'_>) -> Sentence {
    match entry.value() {
        Some(animal @ Json::Object(_)) => sentence!("an animal with the id {}", Animal(animal).shown("id")),
        Some(other) => sentence!("{} in place of an animal", other.kind()),
        None => "a body that is not JSON".into(),
    }
}

fn agrees(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in history.gets() {
        for animal in entry.animals() {
            compare_with_known(history, entry, animal, judgement);
        }
        // Once the operation is gone there is nothing left to compare.
        if entry.is_admitted() && !entry.is_of_operation() {
            judgement.hold();
        }
    }
}

fn not_found(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // One identifier picked at random may, against all odds, belong to an animal. Two do not.
    let mut hits: Vec<&Entry<'_>> = Vec::new();
    for (entry, id) in admitted(history.gets()) {
        let (PetId::Int64(id), Some(status)) = (id, entry.status()) else { continue };
        let expectation = history.expectation(entry);
        if history.is_shown_elsewhere(id, entry) {
            // If no earlier response shows the animal, it may not have existed yet: itself and 404 are lawful, and nothing else.
            let expected = sentence!("the animal {}, or 404 before it is there", id);
            if history.known(id, entry).is_some() {
                continue;
            }
            if !expectation.admits(status) {
                judgement.fail(&[entry], expected, answered(entry));
            } else if status == 200 && entry.animals_with(id).next().is_none() && !shows_as_text(entry, id) {
                judgement.fail(&[entry], expected, shown_instead(entry));
            }
            continue;
        }
        let expected = sentence!("404 for {}, which no animal has", id);
        if expectation.refuses_with(status) {
            judgement.hold();
        } else if status != 200 || entry.animals_with(id).next().is_none() {
            // `pet.int64` reports an id that is a string.
            if status != 200 || !shows_as_text(entry, id) {
                judgement.fail(&[entry], expected, answered(entry));
            }
        } else if !expectation.admits(status) {
            // Clients of recorded traffic may know identifiers from elsewhere.
            if !hits.is_empty() && history.is_run() {
                judgement.fail(&[entry, hits[0]], expected, "an animal for every identifier that was tried");
            }
            hits.push(entry);
        }
    }
}

/// Returns true if the response is an animal with this id as a string.
fn shows_as_text(entry: &Entry<'_>, id: i64) -> bool {
    let animal = entry.animals().into_iter().next();
    animal.is_some_and(|animal| matches!(animal.0.get("id"), Some(Json::String(text)) if *text == id.to_string()))
}

fn malformed_id(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, id) in admitted(history.gets()) {
        let what = match id {
            PetId::Int64(_) => continue,
            PetId::NotInt64 => "a petId that is not an int64",
            // It is an int64 or none, and neither is a reason for another error.
            PetId::Ambiguous => "a petId in an unusual form",
            PetId::Queried => "a petId and a query",
        };
        judgement.require_lawful(history, entry, what);
    }
}

#[cfg(test)]
mod tests;
