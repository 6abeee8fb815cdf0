//! Get an animal, for as long as the operation exists.

use super::list::compare_with_known;
use crate::history::{Case, Docket, Era};
use crate::request::PetId;
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[
    Rule { id: "get.success", judge: success },
    Rule { id: "get.agrees", judge: agrees },
    Rule { id: "get.not-found", judge: not_found },
    Rule { id: "get.malformed-id", judge: malformed_id },
];

/// Gets with a valid key that were not refused for the rate.
fn admitted<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = (&'d Case<'d>, PetId)> {
    docket.gets().filter(|(case, _)| case.key().is_some() && !matches!(case.status(), None | Some(429)))
}

fn success(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, id) in admitted(docket) {
        let PetId::Int64(id) = id else { continue };
        if docket.known(id, case).is_none() {
            continue;
        }
        let shown = case.animals().first().and_then(|animal| animal.id());
        let expected = format!("200 and the animal {id}");
        match (docket.era(case), case.status(), shown) {
            (_, Some(200), shown) if shown == Some(id) => judgement.hold(),
            (_, Some(200), shown) => {
                let shown = shown.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
                judgement.fail(&[case], expected, format!("an animal with {shown}"));
            }
            // Not yet, or no longer.
            (Era::Before, Some(404), _) if !docket.is_settled(id, case) => {}
            (Era::OnTheDay | Era::After, Some(400..=499), _) => judgement.hold(),
            _ => judgement.fail(&[case], expected, answered(case)),
        }
    }
}

fn agrees(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in docket.gets() {
        for animal in case.animals() {
            compare_with_known(docket, case, animal, judgement);
        }
        // Once the operation is gone there is nothing left to compare.
        if case.key().is_some() && docket.era(case) != Era::Before && matches!(case.status(), Some(400..=499)) {
            judgement.hold();
        }
    }
}

fn not_found(docket: &Docket<'_>, judgement: &mut Judgement) {
    // One identifier picked at random may, against all odds, belong to an animal. Two do not, except near nought, where those of
    // animals that exist from before may be.
    const NEAR: u64 = 1 << 32;
    let mut hits: Vec<&Case<'_>> = Vec::new();
    for (case, id) in admitted(docket) {
        let PetId::Int64(id) = id else { continue };
        if docket
            .sightings
            .get(&id)
            .is_some_and(|seen| seen.iter().any(|&seen| !std::ptr::eq(&docket.cases[seen], case)))
        {
            continue;
        }
        let expected = format!("404 for {id}, which no animal has");
        match (docket.era(case), case.status()) {
            (_, Some(404)) | (Era::OnTheDay | Era::After, Some(400..=499)) => judgement.hold(),
            (_, Some(200)) if case.animals().iter().any(|animal| animal.id() == Some(id)) => {
                if id.unsigned_abs() < NEAR {
                    continue;
                }
                if !hits.is_empty() {
                    judgement.fail(&[case, hits[0]], expected, "an animal for every identifier that was tried");
                }
                hits.push(case);
            }
            _ => judgement.fail(&[case], expected, answered(case)),
        }
    }
}

fn malformed_id(docket: &Docket<'_>, judgement: &mut Judgement) {
    for (case, _) in admitted(docket).filter(|(_, id)| *id == PetId::NotInt64) {
        let removed = docket.era(case) != Era::Before && matches!(case.status(), Some(400..=499));
        let lawful = removed || matches!(case.status(), Some(400 | 404));
        judgement.require(case, lawful, "400 or 404 for what is no int64", || answered(case));
    }
}

#[cfg(test)]
mod tests;
