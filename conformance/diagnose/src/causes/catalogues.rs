//! Defects of the catalogue of animals: several where there should be one, a creation that breaks it, ids that are rounded.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_rules::history::{Animal, Entry};

use super::{Broken, Cause};

/// The requirements that several catalogues break.
const BROKEN_BY_IT: [&str; 8] = [
    "get.agrees",
    "get.not-found",
    "get.success",
    "list.agrees",
    "list.complete",
    "list.limit-default",
    "pet.unique-id",
    "versioning.lifetime",
];

/// The cause where replicas have shown no animal that was created at another one.
pub(super) fn of_replicas(broken: &Broken<'_, '_>) -> Option<Cause> {
    let fleet = broken.fleet?;
    let apart = fleet.storing_apart();
    let addresses: Vec<&str> = broken.facts.history.context.addresses().collect();
    let sentence = match apart[..] {
        [] => {
            // One replica that shows too much beside several that agree, or that know its animals, is no sign of a catalogue for each.
            let others_agree = addresses.len() > 2 && fleet.private.iter().filter(|count| **count > 0).count() == 1;
            let is_shared = fleet.reads.iter().any(|reads| reads.shown > 0);
            let (place, count) = fleet.private.iter().enumerate().max_by_key(|(_, count)| **count)?;
            if *count == 0 || others_agree || is_shared {
                return None;
            }
            format!("only the replica {} shows {count} animals that it had before the run", addresses[place])
        }
        _ if apart.len() == addresses.len() => "each replica shows only animals that were created at it".to_owned(),
        [one] => format!("the replica {} shows no animal that was created at another replica", addresses[one]),
        _ => format!("{} replicas show no animal that was created at another replica", apart.len()),
    };
    broken.between_replicas("catalogue-per-replica", sentence, &BROKEN_BY_IT)
}

/// The cause where ids that a 64-bit float cannot represent are shown as the nearest one that it can.
pub(super) fn rounded_ids(broken: &Broken<'_, '_>) -> Option<Cause> {
    let created: BTreeSet<i64> = broken.facts.history.creates().flat_map(|(entry, _)| ids(entry)).collect();
    let mut rounded: BTreeMap<i64, i64> = BTreeMap::new();
    for id in &created {
        let nearest = (*id as f64) as i64;
        if nearest != *id && !created.contains(&nearest) {
            rounded.insert(nearest, *id);
        }
    }
    let shown = |entry: &Entry<'_>| ids(entry).into_iter().find_map(|id| rounded.get_key_value(&id));
    let showing: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| shown(entry).is_some()).collect();
    let (rounded, exact) = shown(showing.first()?)?;
    let explained = broken.explained_by(&["get.", "list.", "pet."], |entry| shown(entry).is_some());
    let sentence =
        format!("the server shows the id {rounded} for the animal {exact}: do ids pass through a 64-bit float?");
    Cause::shown_by("rounded-ids", sentence, explained, showing)
}

fn ids(entry: &Entry<'_>) -> Vec<i64> {
    entry.animals().into_iter().filter_map(Animal::id).collect()
}

/// The number of lists that show that a creation broke all of them.
const MANY: usize = 3;

/// The cause where every list failed from some creation on, and none before it.
pub(super) fn broken_by_a_creation(broken: &Broken<'_, '_>) -> Option<Cause> {
    let lists: Vec<&Entry<'_>> = broken.facts.history.lists().map(|(entry, _)| entry).collect();
    let owed: Vec<&Entry<'_>> =
        lists.into_iter().filter(|entry| entry.key().is_some() && !entry.is_limited()).collect();
    let fails = |entry: &&Entry<'_>| {
        let is_unreadable = entry.succeeded() && !matches!(entry.json, Some(Ok(_)));
        is_unreadable || entry.status().is_none_or(|status| status >= 500)
    };
    let first = owed.iter().position(fails)?;
    let (before, since) = owed.split_at(first);
    let creations: Vec<&Entry<'_>> = broken.facts.history.creates().map(|(entry, _)| entry).collect();
    let creation = creations.iter().rev().find(|creation| creation.precedes(since[0]))?;
    let is_between = before.last()?.precedes(creation);
    if since.len() < MANY || !since.iter().all(fails) || !is_between {
        return None;
    }
    let numbers: Vec<usize> = since.iter().map(|entry| entry.exchange.number).collect();
    let explained = broken.explained_by(&["list.", "service."], |entry| numbers.contains(&entry.exchange.number));
    let sentence = format!(
        "every list after {} failed, and no list before it: does the created animal break lists?",
        described(creation)
    );
    Cause::shown_by(
        "broken-by-a-creation",
        sentence,
        explained,
        std::iter::once(*creation).chain(since.iter().copied()),
    )
}

/// A creation by its number and the beginning of its body.
fn described(creation: &Entry<'_>) -> String {
    const MAX: usize = 60;
    let sent = creation.exchange.request.body.as_ref().map(|body| String::from_utf8_lossy(&body.bytes).into_owned());
    let sent = sent.unwrap_or_default();
    let beginning = &sent[..sent.floor_char_boundary(MAX)];
    let end = if beginning.len() < sent.len() { "…" } else { "" };
    format!("POST #{} ({beginning}{end})", creation.exchange.number)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ids, shown};
    use crate::trace_builder::{TraceBuilder, animal};
    use animal_store_rules::trace::exchange::Request;

    #[test]
    fn animals_that_only_one_of_three_replicas_shows_are_in_no_catalogue_of_its_own() {
        let animals: Vec<String> = (1..=50).map(|id| animal(id, "sold")).collect();
        // The replicas of lists, each with the list of all animals or an empty one.
        let shown_at = |replicas: usize, lists: &[(usize, bool)]| {
            let of_list = |builder: TraceBuilder, (replica, has_all): &(usize, bool)| {
                let animals = if *has_all { animals.join(",") } else { String::new() };
                builder
                    .ask(Request::new("GET", "/pets"), 200, format!("[{animals}]"))
                    .with_rate_limit(8, 10)
                    .replica(*replica)
            };
            ids(lists.iter().fold(TraceBuilder::new().fleet(replicas), of_list)).contains(&"catalogue-per-replica")
        };
        assert!(!shown_at(3, &[(0, true), (1, false), (2, false), (0, true)]), "the other two agree");
        assert!(shown_at(2, &[(0, true), (1, false), (0, true)]), "one of two");
    }

    #[test]
    fn an_id_that_is_shown_rounded_is_named() {
        let list_of = |id: i64| {
            let body = format!(r#"[{{"id":{id},"name":"Rex 1","categoryId":1,"status":"sold"}}]"#);
            let request = Request::new("GET", "/pets").query("limit=100");
            let created = TraceBuilder::new().create(9_007_199_254_740_993).wait(6);
            shown(created.ask(request, 200, body).with_rate_limit(8, 10))
        };
        let rounded = list_of(9_007_199_254_740_992);
        assert!(rounded.iter().any(|(sentence, _)| sentence.contains("pass through a 64-bit float")), "{rounded:?}");
        assert!(list_of(9_007_199_254_740_993).is_empty());
    }

    #[test]
    fn a_creation_after_which_every_list_fails_is_named() {
        let lists = |builder: TraceBuilder, statuses: &[u16]| {
            statuses.iter().fold(builder, |builder, status| builder.list(*status, 9, 10))
        };
        let broken = |before: &[u16], since: &[u16]| {
            ids(lists(lists(TraceBuilder::new(), before).create(7), since)).contains(&"broken-by-a-creation")
        };
        assert!(broken(&[200], &[500; 3]));
        assert!(!broken(&[200], &[500, 500, 200, 500]), "one list works again");
        assert!(!broken(&[500], &[500; 3]), "lists failed before");
        let causes = shown(lists(lists(TraceBuilder::new(), &[200]).create(7), &[500; 3]));
        assert!(causes.iter().any(|(sentence, _)| sentence.contains("after POST #2 ({\"categoryId\":1")), "{causes:?}");
    }
}
