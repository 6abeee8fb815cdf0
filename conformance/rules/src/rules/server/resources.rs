//! Resources and their fields: what an animal looks like, wherever one is shown.

use std::collections::HashMap;

use crate::facts::Facts;
use crate::request::STATUSES;
use crate::rules::{Judgement, Rule};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("pet.members", members),
    Rule::new("pet.int64", int64),
    Rule::new("pet.status-values", status_values),
    Rule::new("pet.unique-id", unique_id),
];

fn members(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        for animal in entry.animals() {
            let problem = ["id", "name", "categoryId"].into_iter().find_map(|name| match (name, animal.0.get(name)) {
                (_, None) => Some(format!("no {name}")),
                ("name", Some(Json::String(_))) | ("id" | "categoryId", Some(Json::Number(_))) => None,
                (_, Some(value)) => Some(format!("{name} is {}", value.kind())),
            });
            judgement.require(
                entry,
                problem.is_none(),
                "an animal with a string name and integers id and categoryId",
                || {
                    let problem = problem.unwrap_or_default();
                    if matches!(animal.0, Json::Object(_)) {
                        problem
                    } else {
                        format!("{} instead of an animal", animal.0.kind())
                    }
                },
            );
        }
    }
}

fn int64(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        for animal in entry.animals() {
            for name in ["id", "categoryId"] {
                let Some(value) = animal.0.get(name) else { continue };
                judgement.require(entry, value.as_int64().is_some(), "a whole number within int64", || match value {
                    Json::Number(number) => format!("{name} is {}", number.as_str()),
                    other => format!("{name} is {}", other.kind()),
                });
            }
        }
    }
}

fn status_values(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        for animal in entry.animals() {
            let lawful = match animal.0.get("status") {
                None => true,
                Some(Json::String(status)) => STATUSES.contains(&status.as_str()),
                Some(_) => false,
            };
            judgement.require(entry, lawful, "a status of available, pending or sold, or none", || {
                match animal.0.get("status") {
                    Some(Json::String(status)) => format!("status is \"{status}\""),
                    other => format!("status is {}", other.map_or("absent", Json::kind)),
                }
            });
        }
    }
}

fn unique_id(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let mut owners: HashMap<i64, usize> = HashMap::new();
    for creation in &history.creations {
        let entry = &history.entries[creation.entry];
        let expected = "an id that no other animal has";
        if let Some(owner) = owners.insert(creation.id, creation.entry) {
            let found = format!("two animals were created with the id {}", creation.id);
            judgement.fail(&[entry, &history.entries[owner]], expected, found);
            continue;
        }
        let before =
            history.sightings[&creation.id].iter().map(|&index| &history.entries[index]).find(|c| c.precedes(entry));
        match before {
            Some(before) => {
                let found = format!("the id {} belonged to an animal before this one was created", creation.id);
                judgement.fail(&[entry, before], expected, found);
            }
            None => judgement.hold(),
        }
    }
}
