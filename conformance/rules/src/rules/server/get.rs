//! Get an animal, for as long as the operation exists.

use super::list::compare_with_known;
use crate::facts::Facts;
use crate::history::{Entry, Era, History};
use crate::request::PetId;
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("get.success", success).excused_by_lag(),
    Rule::new("get.agrees", agrees),
    Rule::new("get.not-found", not_found),
    Rule::new("get.malformed-id", malformed_id),
];

/// Gets with a valid key that were not refused for the rate.
fn admitted<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, PetId)> {
    history.gets().filter(|(entry, _)| entry.key().is_some() && !matches!(entry.status(), None | Some(429)))
}

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, id) in admitted(history) {
        let PetId::Int64(id) = id else { continue };
        if history.known(id, entry).is_none() {
            continue;
        }
        let shown = entry.animals().first().and_then(|animal| animal.id());
        let expected = format!("200 and the animal {id}");
        match (history.era(entry), entry.status(), shown) {
            (_, Some(200), shown) if shown == Some(id) => judgement.hold(),
            (_, Some(200), shown) => {
                let shown = shown.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
                judgement.fail(&[entry], expected, format!("an animal with {shown}"));
            }
            // Not yet, or no longer.
            (Era::Before, Some(404), _) if !history.is_settled(id, entry) => {}
            (Era::OnTheDay | Era::After, Some(400..=499), _) => judgement.hold(),
            _ => judgement.fail(&[entry], expected, answered(entry)),
        }
    }
}

fn agrees(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in history.gets() {
        for animal in entry.animals() {
            compare_with_known(history, entry, animal, judgement);
        }
        // Once the operation is gone there is nothing left to compare.
        if entry.key().is_some() && history.era(entry) != Era::Before && matches!(entry.status(), Some(400..=499)) {
            judgement.hold();
        }
    }
}

fn not_found(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // One identifier picked at random may, against all odds, belong to an animal. Two do not, except near nought, where those of
    // animals that exist from before may be.
    const NEAR: u64 = 1 << 32;
    let mut hits: Vec<&Entry<'_>> = Vec::new();
    for (entry, id) in admitted(history) {
        let PetId::Int64(id) = id else { continue };
        if history
            .sightings
            .get(&id)
            .is_some_and(|seen| seen.iter().any(|&seen| !std::ptr::eq(&history.entries[seen], entry)))
        {
            continue;
        }
        let expected = format!("404 for {id}, which no animal has");
        match (history.era(entry), entry.status()) {
            (_, Some(404)) | (Era::OnTheDay | Era::After, Some(400..=499)) => judgement.hold(),
            (_, Some(200)) if entry.animals().iter().any(|animal| animal.id() == Some(id)) => {
                if id.unsigned_abs() < NEAR {
                    continue;
                }
                if !hits.is_empty() {
                    judgement.fail(&[entry, hits[0]], expected, "an animal for every identifier that was tried");
                }
                hits.push(entry);
            }
            _ => judgement.fail(&[entry], expected, answered(entry)),
        }
    }
}

fn malformed_id(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history).filter(|(_, id)| *id == PetId::NotInt64) {
        let removed = history.era(entry) != Era::Before && matches!(entry.status(), Some(400..=499));
        let lawful = removed || matches!(entry.status(), Some(400 | 404));
        judgement.require(entry, lawful, "400 or 404 for what is no int64", || answered(entry));
    }
}

#[cfg(test)]
mod tests;
