//! Add an animal: what must be accepted, what must be refused, and what the response must contain.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::admitted;
use super::list::differences;
use crate::facts::Facts;
use crate::history::{Animal, Entry};
use crate::request::{Ambiguity, CreateBody, Draft, Fault, NEAR_ZERO, is_plain_name};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_requests("create.success", success),
    Rule::new("create.echo", echo).needing(Needs::BODIES),
    Rule::new("create.assigned-id", assigned_id).needing(Needs::BODIES),
    Rule::of_requests("create.name-required", |d, j| refused(d, j, Fault::NameMissing, "a body without name")),
    Rule::of_requests("create.category-required", |d, j| {
        refused(d, j, Fault::CategoryMissing, "a body without categoryId");
    }),
    Rule::of_requests("create.name-type", |d, j| refused(d, j, Fault::NameType, "a name that is not a string")),
    Rule::of_requests("create.category-type", |d, j| {
        refused(d, j, Fault::CategoryType, "a categoryId that is not a number");
    }),
    Rule::of_requests("create.category-int64", |d, j| {
        refused(d, j, Fault::CategoryRange, "a categoryId outside int64 or with a fraction");
    }),
    Rule::of_requests("create.status-enum", |d, j| {
        refused(d, j, Fault::StatusEnum, "a status outside the three values");
    }),
    Rule::of_requests("create.body-required", |d, j| {
        refused(d, j, Fault::NoObject, "a body that is missing or is not an object");
        refused(d, j, Fault::NoLength, "a body that is missing");
    }),
    Rule::of_requests("create.malformed-json", malformed_json),
    Rule::of_requests("create.extended-json", extended_json),
];

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let mut is_category_unknown = false;
    for (entry, body) in admitted(history.creates()) {
        let CreateBody::NewPet(_, ambiguities) = body else { continue };
        let what = if ambiguities.is_empty() { "a valid NewPet" } else { "a body that may be accepted or refused" };
        judgement.require_lawful(history, entry, what);
        is_category_unknown |= ambiguities.contains(&Ambiguity::UnknownCategory);
    }
    // Refusals alone do not show that a valid animal is accepted.
    if is_category_unknown && judgement.failures.is_empty() {
        judgement.judged = 0;
        judgement.withheld = Some(UNKNOWN_CATEGORY.to_owned());
    }
}

/// Note of `create.success` for a run whose animals were all refused, and perhaps for their category.
const UNKNOWN_CATEGORY: &str = "no response shows a category that the service knows: name one with --category-id";

fn echo(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in history.creates().filter(|(entry, _)| entry.status() == Some(201)) {
        let CreateBody::NewPet(sent, ambiguities) = body else { continue };
        let Some(animal) = entry.animals().first().copied() else { continue };
        if ambiguities.contains(&Ambiguity::RepeatedMember) {
            continue;
        }
        judgement.require_no_defect(entry, "the animal as it was sent", alteration(animal, sent));
    }
}

/// The members of an animal that differ from the request that created it, in words.
fn alteration(animal: Animal<'_>, sent: &Draft) -> Option<Sentence> {
    let altered = [
        ("name", sent.name.as_deref().is_some_and(|name| animal.name().is_none_or(|shown| !is_same_name(name, shown)))),
        ("categoryId", sent.category_id.is_some_and(|category| animal.category_id() != Some(category))),
        ("status", sent.status.is_some() && animal.status() != sent.status.as_deref()),
    ];
    let as_sent = |member: &str| match member {
        "name" => Json::String(sent.name.clone().unwrap_or_default()).to_string(),
        "categoryId" => sent.category_id.unwrap_or_default().to_string(),
        _ => Json::String(sent.status.clone().unwrap_or_default()).to_string(),
    };
    differences(altered, |member| animal.shown(member), as_sent)
}

/// Returns true if a name is shown as it was sent. An unusual name may be trimmed and brought to normalisation form C.
fn is_same_name(sent: &str, shown: &str) -> bool {
    let is_trimmed_or_composed = || sent.contains(shown) || is_nfc(shown);
    sent == shown || !is_plain_name(sent) && normalised(sent) == normalised(shown) && is_trimmed_or_composed()
}

/// A name as a server may store it: trimmed, and in normalisation form C.
pub(super) fn normalised(name: &str) -> String {
    name.trim_matches(is_trimmed).nfc().collect()
}

/// Returns true for a character that some language trims: white space, a control character, or one without width.
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
            // The judge sends unlikely ids. A small id from another client may be the next in a sequence by chance.
            Some(id) if asked == Some(id) && !history.is_run() && id.unsigned_abs() < NEAR_ZERO => {}
            Some(id) if asked == Some(id) => {
                judgement.fail(&[entry], expected, sentence!("the id {} that the client sent", id));
            }
            Some(_) => judgement.hold(),
        }
    }
}

fn refused(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement, fault: Fault, what: &'static str) {
    for (entry, body) in admitted(history.creates()) {
        if matches!(body, CreateBody::Faulty(faults, _) if faults.contains(&fault)) {
            let before = judgement.failures.len();
            judgement.require_lawful(history, entry, what);
            if let Some(failure) = judgement.failures.get_mut(before) {
                failure.subject = value_at_fault(entry, fault);
            }
        }
    }
}

/// The invalid value in the request body, as JSON. A missing member or body has none.
fn value_at_fault(entry: &Entry<'_>, fault: Fault) -> Option<String> {
    let json = Json::parse(&entry.exchange.request.body.as_ref()?.bytes).ok()?;
    match fault.member() {
        Some(member) => json.get(member).map(Json::to_string),
        None => Some(json.to_string()),
    }
}

fn malformed_json(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, body) in admitted(history.creates()) {
        let what = match body {
            CreateBody::Malformed => "a body that is not a NewPet in JSON",
            CreateBody::Unclear | CreateBody::Extended => "a body that not every reader takes for JSON",
            CreateBody::OtherMedia => "a body of another media type",
            CreateBody::Faulty(..) | CreateBody::NewPet(..) => continue,
        };
        judgement.require_lawful(history, entry, what);
    }
}

fn extended_json(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history.creates()).filter(|(_, body)| **body == CreateBody::Extended) {
        // `create.malformed-json` judges every other status code.
        if matches!(entry.status(), Some(201 | 400..=499)) {
            let expected = "any 4xx for a body that is JSON only to a reader that extends the grammar";
            judgement.require(entry, entry.status() != Some(201), expected, || answered(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::tests::{TraceBuilder, animal};
    use crate::trace::exchange::Request;

    #[test]
    fn a_category_that_nobody_vouches_for_may_be_unknown_until_a_response_shows_it() {
        let judged = |is_vouched_for: bool, builder: TraceBuilder| {
            let mut trace = builder.refused_create(400).trace();
            trace.context.vouches_for_category = is_vouched_for;
            let mut judgement = Judgement::default();
            success(&Facts::new(&History::new(&trace)), &mut judgement);
            (judgement.judged, judgement.failures.len(), judgement.withheld)
        };
        let nothing = TraceBuilder::new;
        assert_eq!(judged(false, nothing()), (0, 0, Some(UNKNOWN_CATEGORY.to_owned())));
        assert_eq!(judged(true, nothing()), (1, 1, None));
        let other = Request::new("POST", "/pets").json(r#"{"name":"Max 1","categoryId":1}"#);
        assert_eq!(judged(false, nothing().ask(other, 201, animal(7, "sold"))), (2, 1, None), "it was accepted");
        assert_eq!(judged(false, nothing().get(7, Some("sold"))), (1, 1, None), "an animal has it");
        assert_eq!(judged(false, nothing().refused_create(422)).1, 1, "422 is about nothing that is open");
    }

    #[test]
    fn an_id_that_the_client_sent_was_not_assigned_by_the_service() {
        let failures = |shown: i64| {
            let asked = Request::new("POST", "/pets").json(r#"{"id":7000000000000,"name":"Max 1","categoryId":1}"#);
            TraceBuilder::new().ask(asked, 201, animal(shown, "sold")).failures_of("create.assigned-id").len()
        };
        assert_eq!(failures(7_000_000_000_000), 1);
        assert_eq!(failures(8), 0);
    }

    #[test]
    fn only_an_unusual_name_may_be_normalised() {
        assert!(is_same_name("Rex 1", "Rex 1"));
        assert!(!is_same_name("Rex 1", "Rex 1 "));
        assert!(!is_same_name("Rex 1", "rex 1"));
        assert!(is_same_name(" Zoe\u{308} ", "Zo\u{eb}"));
        assert!(!is_same_name("Zo\u{eb}", "Zoe"));
        assert!(!is_same_name("Zo\u{eb}", "Zoe\u{308}"), "decomposed");
        assert!(is_same_name(" Zoe\u{308} ", "Zoe\u{308}"), "trimmed as it was");
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
