//! Resources and their fields: what an animal looks like, wherever one is shown.

use std::collections::HashMap;

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::STATUSES;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("pet.members", |_| true, members).needing(Needs::BODY),
    Rule::of_entries("pet.int64", |_| true, int64).needing(Needs::BODY),
    Rule::of_entries("pet.status-values", |_| true, status_values).needing(Needs::BODY),
    Rule::new("pet.unique-id", unique_id).needing(Needs::ANIMALS),
];

fn members(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for animal in entry.animals() {
        let problems = ["id", "name", "categoryId"].into_iter().filter_map(|name| match (name, animal.0.get(name)) {
            (_, None) => Some(sentence!("no {}", name)),
            ("name", Some(Json::String(_))) | ("id" | "categoryId", Some(Json::Number(_))) => None,
            (_, Some(value @ (Json::Number(_) | Json::String(_)))) => Some(sentence!("{} is {}", name, value)),
            (_, Some(value)) => Some(sentence!("{} is {}", name, value.kind())),
        });
        // All defects at once, so that one look at the response is enough.
        let problems: Vec<Sentence> = problems.collect();
        let expected = "an animal with a string name and integers id and categoryId";
        judgement.require(entry, problems.is_empty(), expected, || match animal.0 {
            Json::Object(_) => sentence!("{}", problems),
            other => sentence!("{} instead of an animal", other.kind()),
        });
    }
}

fn int64(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for animal in entry.animals() {
        for name in ["id", "categoryId"] {
            let Some(value) = animal.0.get(name) else { continue };
            judgement.require(entry, value.as_int64().is_some(), "a whole number within int64", || match value {
                Json::Number(_) | Json::String(_) => sentence!("{} is {}", name, value),
                other => sentence!("{} is {}", name, other.kind()),
            });
        }
    }
}

fn status_values(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for animal in entry.animals() {
        let lawful = match animal.0.get("status") {
            None => true,
            Some(Json::String(status)) => STATUSES.contains(&status.as_str()),
            Some(_) => false,
        };
        judgement.require(entry, lawful, "a status of available, pending or sold, or none", || {
            match animal.0.get("status") {
                Some(status @ (Json::String(_) | Json::Number(_))) => sentence!("status is {}", status),
                other => sentence!("status is {}", other.map_or("absent", Json::kind)),
            }
        });
    }
}

fn unique_id(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let mut owners: HashMap<i64, usize> = HashMap::new();
    for creation in &history.creations {
        let entry = &history.entries[creation.entry];
        let expected = "an id that no other animal has";
        if let Some(owner) = owners.insert(creation.id, creation.entry) {
            // In recorded traffic the first animal may be gone by then: the specification says nothing about removal.
            let owner_entry = &history.entries[owner];
            if history.is_sample() && owner_entry.precedes(entry) {
                continue;
            }
            let found = sentence!("two animals were created with the id {}", creation.id);
            judgement.fail(&[entry, &history.entries[owner]], expected, found);
            continue;
        }
        let before = history.shown(creation.id).map(|(shown, _)| shown).find(|shown| shown.precedes(entry));
        match before {
            Some(_) if history.is_sample() => {}
            Some(before) => {
                let found = sentence!("the id {} belonged to an animal before this one was created", creation.id);
                judgement.fail(&[entry, before], expected, found);
            }
            None => judgement.hold(),
        }
    }
}
