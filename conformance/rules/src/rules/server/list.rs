//! List all animals. The rules hold for any order, any catalogue and any treatment of an invalid parameter.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;

use super::admitted;
use crate::catalogue::figures::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::{ListQuery, Parameter};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::json::Json;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("list.success", success).needing(Needs::CREDENTIAL),
    Rule::new("list.array", array).needing(Needs::BODY),
    Rule::new("list.limit-minimum", limit_minimum).needing(Needs::ANSWER),
    Rule::new("list.limit-maximum", limit_maximum).needing(Needs::ANSWER),
    Rule::new("list.limit-default", limit_default).needing(Needs::ANIMALS).excused_by_lag(),
    Rule::new("list.limit-honoured", limit_honoured).needing(Needs::BODY),
    Rule::new("list.status-filter", status_filter).needing(Needs::BODY),
    Rule::new("list.complete", complete).needing(Needs::ANIMALS).excused_by_lag(),
    Rule::new("list.unique", unique).needing(Needs::BODY),
    Rule::new("list.agrees", agrees).needing(Needs::ANIMALS),
    Rule::new("list.bad-parameters", bad_parameters).needing(Needs::CREDENTIAL),
];

/// The list requests that got 200 and a JSON array, each with the animals in it.
fn arrays<'d>(history: &'d History<'_>) -> impl Iterator<Item = (&'d Entry<'d>, &'d ListQuery, Vec<Animal<'d>>)> {
    history
        .lists()
        .filter(|(entry, _)| entry.status() == Some(200) && matches!(entry.value(), Some(Json::Array(_))))
        .map(|(entry, query)| (entry, query, entry.animals()))
}

fn success(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history.lists()).filter(|(_, query)| query.is_lawful()) {
        judgement.require_lawful(history, entry, "a valid list request");
    }
    // A credential in another form, such as a key after `bearer`, may be accepted or refused, but is no reason for another error.
    let ambiguous = history.lists().filter(|(entry, query)| entry.credential.is_open() && query.is_lawful());
    for (entry, _) in ambiguous.filter(|(entry, _)| !matches!(entry.status(), None | Some(429))) {
        judgement.require_lawful(
            history,
            entry,
            "a valid list request whose Authorization is not written exactly as described",
        );
    }
}

fn array(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in history.lists().filter(|(entry, _)| entry.status() == Some(200)) {
        let Some(json) = entry.value() else { continue };
        let stranger = match json {
            Json::Array(items) => items.iter().find(|item| !matches!(item, Json::Object(_))),
            other => Some(other),
        };
        judgement.require(entry, stranger.is_none(), "a JSON array, without a wrapper object", || match json {
            Json::Array(_) => sentence!("{} in the array", stranger.map_or("nothing", Json::kind)),
            Json::Object(members) if members.is_empty() => "an empty object".into(),
            Json::Object(members) => {
                let names: Vec<&str> = members.iter().take(4).map(|(name, _)| name.as_str()).collect();
                sentence!("an object with the members {}", names.join(", "))
            }
            other => other.kind().into(),
        });
    }
}

fn limit_minimum(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history.lists()).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(1)) {
        let held = entry.status() == Some(200) && entry.animals().len() <= 1;
        judgement.require(entry, held, "200 and at most one animal for limit=1", || counted(entry));
    }
    few_animals(history, 1, "a limit of 1 has any effect", judgement);
}

/// Notes that the catalogue has too few animals, at most this many, to show a property of lists.
fn few_animals(history: &History<'_>, enough: usize, property: &str, judgement: &mut Judgement) {
    let known = history.ids().count();
    if known <= enough {
        let seen = if known == 1 { "1 animal was seen".to_owned() } else { format!("{known} animals were seen") };
        judgement.unseen = Some(format!("only {seen}, so it is unknown whether {property}"));
    }
}

fn limit_maximum(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in
        admitted(history.lists()).filter(|(_, q)| q.is_lawful() && q.limit == Parameter::Lawful(MAX_LIMIT))
    {
        judgement.require(entry, entry.status() == Some(200), "200 for limit=100", || counted(entry));
    }
    for (entry, _, animals) in arrays(history) {
        judgement.require(entry, animals.len() <= MAX_LIMIT, "never more than 100 animals", || counted(entry));
    }
    let property = "lists of more than 100 are cut; a larger plan, or a catalogue of more than 100, shows it";
    few_animals(history, MAX_LIMIT, property, judgement);
}

/// The number of animals in a list, or the answer without one, in words.
pub(crate) fn counted(entry: &Entry<'_>) -> Sentence {
    match entry.status() {
        Some(200) => match entry.animals().len() {
            1 => "1 animal".into(),
            count => sentence!("{} animals", count),
        },
        _ => answered(entry),
    }
}

fn limit_default(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history).filter(|(_, q, _)| q.is_lawful() && q.limit == Parameter::Absent) {
        judgement
            .require(entry, animals.len() <= DEFAULT_LIMIT, "at most 20 animals without a limit", || counted(entry));
        if query.status == Parameter::Absent {
            let is_full = animals.len() >= DEFAULT_LIMIT;
            let known = if is_full { animals.len() } else { expected_among(history, entry, query).len() };
            let full = is_full || animals.len() >= known;
            judgement.require(entry, full, "20 animals without a limit, if that many exist", || {
                sentence!("{}, although {} are known to exist", counted(entry), known)
            });
        }
    }
    few_animals(history, DEFAULT_LIMIT, "lists without a limit end after 20 animals", judgement);
}

fn limit_honoured(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history) {
        if let Parameter::Lawful(limit) = query.limit {
            judgement.require(entry, animals.len() <= limit, sentence!("at most {} animals", limit), || counted(entry));
        }
    }
}

fn status_filter(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, query, animals) in arrays(history) {
        let wanted = match &query.status {
            Parameter::Lawful(status) => status.clone(),
            // What is no status may be refused or match nothing, and a reader may take a status in it for it. Blanks may be none.
            Parameter::Ambiguous(text) => percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned(),
            Parameter::Absent | Parameter::Repeated => continue,
        };
        if !wanted.contains(|c: char| c.is_ascii_graphic()) {
            continue;
        }
        let words: Vec<&str> = wanted.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let stranger = animals.iter().find(|animal| !animal.status().is_some_and(|status| words.contains(&status)));
        judgement.require(
            entry,
            stranger.is_none(),
            sentence!("only animals with the status \"{}\"", wanted.clone()),
            || match stranger.and_then(|animal| animal.0.get("status")) {
                Some(Json::String(status)) => sentence!("an animal with the status \"{}\"", status.clone()),
                Some(other) => sentence!("an animal whose status is {}", other.kind()),
                None => "an animal without a status".into(),
            },
        );
    }
    let statuses: HashSet<Option<&str>> = history.entries.iter().flat_map(Entry::animals).map(Animal::status).collect();
    if statuses.len() < 2 {
        let seen = "no two animals of different status were seen, so it is unknown whether the filter leaves any out";
        judgement.unseen = Some(seen.to_owned());
    }
}

/// The ids of the animals that a list with this query must show, unless its limit leaves no room for them.
fn expected_among(history: &History<'_>, entry: &Entry<'_>, query: &ListQuery) -> HashSet<i64> {
    let is_filtered = query.status != Parameter::Absent;
    // In recorded traffic a status may have changed and changed back unseen.
    let own_only = is_filtered && (history.others_change || !history.is_run());
    let mut expected = HashSet::new();
    for id in history.ids() {
        if own_only && !history.is_own(id) || !history.is_settled(id, entry) {
            continue;
        }
        let Some((_, first)) = history.known(id, entry) else { continue };
        // A status that was not supplied may be filled in after the creation.
        let has_matched = matches_filter(query, first)
            || first.status().is_none()
                && history.seen_before(id, entry, |shown| matches_filter(query, shown)).is_some();
        if has_matched && (!is_filtered || still_matches(history, entry, query, id)) {
            expected.insert(id);
        }
    }
    expected
}

/// Returns true if the `status` parameter of a query selects the animal.
fn matches_filter(query: &ListQuery, animal: Animal<'_>) -> bool {
    match &query.status {
        Parameter::Absent => true,
        Parameter::Lawful(status) => animal.status() == Some(status),
        Parameter::Ambiguous(_) | Parameter::Repeated => false,
    }
}

/// Returns true if the filter certainly selects the animal when the list is answered: it is seen with that status right before or soon
/// after. Otherwise its status may have changed, and changed back.
fn still_matches(history: &History<'_>, entry: &Entry<'_>, query: &ListQuery, id: i64) -> bool {
    // Within this time, a status cannot have changed and changed back.
    let is_soon =
        |earlier: &Entry<'_>, later: &Entry<'_>| later.longest_since(earlier) <= Tolerance::READ_LAG.duration();
    let matched_before = history
        .shown(id)
        .any(|(earlier, animal)| earlier.precedes(entry) && is_soon(earlier, entry) && matches_filter(query, animal));
    match history.shown(id).find(|(later, _)| entry.precedes(later)) {
        Some((_, next)) if !matches_filter(query, next) => false,
        Some((later, _)) if is_soon(entry, later) => matched_before || !history.own_change(),
        _ => matched_before && !history.own_change(),
    }
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
                let found =
                    sentence!("{} of at most {}, and the animal {} is not among them", counted(entry), bound, id);
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
            sentence!("the animal {} is listed twice", twice.unwrap_or_default())
        });
    }
}

fn agrees(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // The names that only this run can have sent, each with the creations that sent it and the ids that responses show it under.
    let mut names: HashMap<&str, (Vec<&Entry<'_>>, HashSet<i64>)> = HashMap::new();
    // A creation that is missing, or whose body is withheld, may have had any name.
    let is_withheld = |entry: &Entry<'_>| entry.exchange.known.withheld.contains(Fact::RequestBody);
    let counts_all = history.is_run() && !history.creates().any(|(entry, _)| is_withheld(entry));
    let mark = history.context.name_mark.as_deref().filter(|_| counts_all);
    for (entry, body) in history.creates() {
        let name = body.draft().and_then(|draft| draft.name.as_deref());
        if let Some(name) = name.filter(|name| mark.is_some_and(|mark| name.contains(mark))) {
            let (sent, ids) = names.entry(name).or_default();
            sent.push(entry);
            ids.extend(entry.animals().iter().filter_map(|created| created.id()));
        }
    }
    for (entry, _, animals) in arrays(history) {
        for animal in animals {
            compare_with_known(history, entry, animal, judgement);
            if let (Some(name), Some(id)) = (animal.name(), animal.id())
                && let Some((sent, ids)) = names.get_mut(name)
                && ids.insert(id)
                && ids.len() > sent.len()
            {
                let found = sentence!("an animal {} more than was created", format!("{name:?}"));
                judgement.fail(&[entry, sent[sent.len() - 1]], "as many animals of a name as this run has sent", found);
            }
        }
    }
}

/// Requires that an animal agrees with earlier responses that show its id.
pub(crate) fn compare_with_known(
    history: &History<'_>,
    entry: &Entry<'_>,
    animal: Animal<'_>,
    judgement: &mut Judgement,
) {
    let Some((id, (first, known))) = animal.id().and_then(|id| Some((id, history.known(id, entry)?))) else { return };
    // The specification does not say how an animal changes. An animal of this run may have another status once it was read as
    // created, and a default may be filled in later than the creation. An animal of another client may change its status at any
    // time; its name and category count only if a later response shows them as they were.
    let is_own = history.is_made_by(first);
    let is_unchanged = |other: Animal<'_>| other.name() == known.name() && other.category_id() == known.category_id();
    if !is_own && !is_unchanged(animal) && !history.is_seen_after(id, entry, is_unchanged) {
        return;
    }
    let may_change =
        if is_own { known.status().is_none() || history.has_changed(id, entry) } else { animal.status().is_some() };
    let differing = [
        ("name", animal.name() != known.name()),
        ("categoryId", animal.category_id() != known.category_id()),
        ("status", !may_change && animal.status() != known.status()),
    ];
    // A status that was filled in stays: each animal has one.
    if is_own
        && known.status().is_none()
        && animal.status().is_none()
        && let Some(given) = history.seen_before(id, entry, |shown| shown.status().is_some())
    {
        judgement.fail(&[entry, given], "the same animal as in earlier answers", "no status, where one was shown");
        return;
    }
    let difference = differences(differing, |member| animal.shown(member), |member| known.shown(member));
    match difference {
        None => judgement.hold(),
        Some(difference) => judgement.fail(&[entry, first], "the same animal as in earlier answers", difference),
    }
}

/// The members that differ, each with its shown and its due value, in words; none if all agree.
pub(crate) fn differences(
    members: [(&'static str, bool); 3],
    shown: impl Fn(&str) -> String,
    due: impl Fn(&str) -> String,
) -> Option<Sentence> {
    let differing = members.into_iter().filter(|(_, differs)| *differs);
    let each: Vec<Sentence> =
        differing.map(|(member, _)| sentence!("{} {} instead of {}", member, shown(member), due(member))).collect();
    (!each.is_empty()).then(|| sentence!("{}", each))
}

fn bad_parameters(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for (entry, _) in admitted(history.lists()).filter(|(_, query)| !query.is_lawful()) {
        judgement.require_lawful(history, entry, "a parameter that may be clamped, ignored or refused");
    }
}

#[cfg(test)]
mod tests;
