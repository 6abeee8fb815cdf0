//! Add an animal: what must be accepted, what must be refused, and what the answer must say.

use unicode_normalization::UnicodeNormalization;

use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::{Ambiguity, CreateBody, Fault, is_plain_name};
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("create.success", success),
    Rule::new("create.echo", echo),
    Rule::new("create.assigned-id", assigned_id),
    Rule::new("create.name-required", |d, j| refused(d, j, Fault::NameMissing, "a body without name")),
    Rule::new("create.category-required", |d, j| refused(d, j, Fault::CategoryMissing, "a body without categoryId")),
    Rule::new("create.name-type", |d, j| refused(d, j, Fault::NameType, "a name that is not a string")),
    Rule::new("create.category-type", |d, j| refused(d, j, Fault::CategoryType, "a categoryId that is not a number")),
    Rule::new("create.category-int64", category_int64),
    Rule::new("create.status-enum", |d, j| refused(d, j, Fault::StatusEnum, "a status outside the three values")),
    Rule::new("create.body-required", |d, j| {
        refused(d, j, Fault::NoObject, "a body that is missing or is not an object");
    }),
    Rule::new("create.malformed-json", malformed_json),
];

/// Creations with a valid key that were not refused for the rate.
fn admitted<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, &'d CreateBody)> {
    history.creates().filter(|(entry, _)| entry.key().is_some() && !matches!(entry.status(), None | Some(429)))
}

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in admitted(history) {
        let CreateBody::NewPet(_, ambiguities) = body else { continue };
        let what = if ambiguities.is_empty() { "a valid NewPet" } else { "a body that may be accepted or refused" };
        judgement.require_lawful(history, entry, what);
    }
}

fn echo(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in history.creates().filter(|(entry, _)| entry.status() == Some(201)) {
        let CreateBody::NewPet(sent, ambiguities) = body else { continue };
        let Some(animal) = entry.animals().first().copied() else { continue };
        if ambiguities.contains(&Ambiguity::RepeatedMember) {
            continue;
        }
        match alteration(animal, sent.name.as_deref(), sent.category_id, sent.status.as_deref()) {
            None => judgement.hold(),
            Some(alteration) => judgement.fail(&[entry], "the animal as it was sent", alteration),
        }
    }
}

/// What is not as it was sent.
fn alteration(animal: Animal<'_>, name: Option<&str>, category: Option<i64>, status: Option<&str>) -> Option<String> {
    if let Some(name) = name
        && !animal.name().is_some_and(|shown| is_same_name(name, shown))
    {
        return Some(format!("name {:?} instead of {name:?}", animal.name().unwrap_or("")));
    }
    if let Some(category) = category
        && animal.category_id() != Some(category)
    {
        let shown = animal
            .category_id()
            .map_or_else(|| "a value that is not an int64".to_owned(), |category| category.to_string());
        return Some(format!("categoryId {shown} instead of {category}"));
    }
    if let Some(status) = status
        && animal.status() != Some(status)
    {
        return Some(format!("status {:?} instead of {status:?}", animal.status().unwrap_or("none")));
    }
    None
}

/// Whether a name is shown as it was sent. An unusual one may be trimmed and brought to normalisation form C.
fn is_same_name(sent: &str, shown: &str) -> bool {
    let normal = |name: &str| name.trim_matches(is_trimmed).nfc().collect::<String>();
    sent == shown || !is_plain_name(sent) && normal(sent) == normal(shown)
}

/// What one language or another trims: white space, control characters, and characters that take no room.
fn is_trimmed(char: char) -> bool {
    char.is_whitespace() || char.is_control() || matches!(char, '\u{180e}' | '\u{200b}' | '\u{feff}')
}

fn assigned_id(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in history.creates().filter(|(entry, _)| entry.status() == Some(201)) {
        let Some(animal) = entry.animals().first().copied() else { continue };
        let asked = body.draft().and_then(|draft| draft.id);
        let expected = "an id that the service assigned";
        match animal.id() {
            None => judgement.fail(&[entry], expected, "an id that is missing or not an int64"),
            Some(id) if asked == Some(id) => {
                judgement.fail(&[entry], expected, format!("the id {id} that the client sent"));
            }
            Some(_) => judgement.hold(),
        }
    }
}

fn refused(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement, fault: Fault, what: &str) {
    for (entry, body) in admitted(history) {
        if matches!(body, CreateBody::Faulty(faults, _) if faults.contains(&fault)) {
            judgement.require_lawful(history, entry, what);
        }
    }
}

fn category_int64(facts: &Facts<'_>, judgement: &mut Judgement) {
    refused(facts, judgement, Fault::CategoryRange, "a categoryId outside int64 or with a fraction");
    refused(facts, judgement, Fault::CategoryDigits, "a categoryId of hundreds of digits");
}

fn malformed_json(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in admitted(history) {
        match body {
            CreateBody::Malformed => judgement.require_lawful(history, entry, "a body that is not JSON"),
            CreateBody::Unclear => {
                judgement.require_lawful(history, entry, "a body that not every reader takes for JSON");
            }
            CreateBody::OtherMedia => {
                judgement.require_lawful(history, entry, "a body of another media type");
            }
            CreateBody::Faulty(..) | CreateBody::NewPet(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unusual_name_may_be_normalised() {
        assert!(is_same_name("Rex 1", "Rex 1"));
        assert!(!is_same_name("Rex 1", "Rex 1 "));
        assert!(!is_same_name("Rex 1", "rex 1"));
        assert!(is_same_name(" Zoe\u{308} ", "Zo\u{eb}"));
        assert!(!is_same_name("Zo\u{eb}", "Zoe"));
    }

    #[test]
    fn what_is_trimmed_depends_on_the_language() {
        for trimmed in ["\u{feff}", "\u{200b}", "\u{180e}", "\u{3000}", "\0", "\u{85}"] {
            assert!(is_same_name(&format!("{trimmed}Zo\u{eb} {trimmed}"), "Zo\u{eb}"), "{trimmed:?}");
        }
        assert!(!is_same_name("Zo\u{eb}\u{301}", "Zo\u{eb}"));
        assert!(!is_same_name("Z\u{feff}o\u{eb}", "Zo\u{eb}"), "within a name nothing is");
    }
}
