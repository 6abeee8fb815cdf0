//! Resources and their fields: what an animal looks like, wherever one is shown.

use std::collections::HashMap;

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::STATUSES;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, Value, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("pet.members", |_| true, members).needing(Needs::BODY),
    Rule::of_entries("pet.int64", |_| true, int64).needing(Needs::BODY),
    Rule::of_entries("pet.status-values", |_| true, status_values).needing(Needs::BODY),
    Rule::new("pet.unique-id", unique_id).needing(Needs::ANIMALS),
];

/// A value of a member for sentences: numbers and texts as they were read, others by their kind.
pub(super) fn shown(value: &Json) -> Value {
    match value {
        Json::Number(_) | Json::String(_) => value.into(),
        other => other.kind().into(),
    }
}

/// The lack of a member in words, with the member whose name differs only in case, if there is one.
pub(super) fn lacking(json: &Json, name: &'static str) -> Sentence {
    match json.name_in_another_case(name) {
        Some(other) => sentence!("{} in place of {}, which differs only in case", other.to_owned(), name),
        None => sentence!("no {}", name),
    }
}

fn members(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for animal in entry.animals() {
        let problems = ["id", "name", "categoryId"].into_iter().filter_map(|name| match (name, animal.0.get(name)) {
            (_, None) => Some(lacking(animal.0, name)),
            ("name", Some(Json::String(_))) | ("id" | "categoryId", Some(Json::Number(_))) => None,
            (_, Some(value)) => Some(sentence!("{} is {}", name, shown(value))),
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
            judgement.require(entry, value.as_int64().is_some(), "a whole number within int64", || {
                sentence!("{} is {}", name, shown(value))
            });
        }
    }
}

fn status_values(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for animal in entry.animals() {
        let status = animal.0.get("status");
        let is_lawful = status.is_none_or(|status| status.as_str().is_some_and(|status| STATUSES.contains(&status)));
        judgement.require(entry, is_lawful, "a status of available, pending or sold, or none", || {
            sentence!("status is {}", status.map_or_else(|| "absent".into(), shown))
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
            let owner = &history.entries[owner];
            if !history.is_sample() || !owner.precedes(entry) {
                let found = sentence!("two animals were created with the id {}", creation.id);
                judgement.fail(&[entry, owner], expected, found);
            }
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
