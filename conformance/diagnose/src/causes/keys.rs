//! The cause where a valid key is refused now and then.

use std::collections::BTreeSet;

use animal_store_rules::history::{Acceptance, Entry};
use animal_store_rules::tolerance::Tolerance;

use super::{Broken, Cause};

/// The number of refusals that make a habit.
const SEVERAL: usize = 3;

/// One refusal in this many answers is a habit; fewer have other causes.
const ONE_IN: usize = 10;

/// The cause where some responses refuse a key with 401 that others accept: not every replica of the service knows it.
pub(super) fn known_to_some(broken: &Broken<'_, '_>) -> Option<Cause> {
    let access = &broken.facts.history.access;
    let (place, acceptance) = access.keys.iter().enumerate().find(|(_, key)| is_known_to_some(broken, key))?;
    let refused: BTreeSet<usize> = acceptance.refused.iter().map(|at| at + 1).collect();
    let explained = broken.explained(&[""], |failure| failure.exchanges.iter().any(|number| refused.contains(number)));
    let which = if place == 0 { "the key" } else { "the second key" };
    let all = acceptance.refused.len() + acceptance.accepted.len();
    let question = match known_after(broken, acceptance) {
        Some(seconds) => format!(
            "but none after the first {seconds} s: a new key that was not yet known everywhere? `--wait SECONDS` lets the run begin when it is"
        ),
        None => "although others accept it: is there a replica that does not know it?".to_owned(),
    };
    let sentence = format!("{} of {all} responses refuse {which} with 401, {question}", refused.len());
    let entries = acceptance.refused.iter().map(|at| &broken.entries()[*at]);
    Cause::shown_by("key-known-to-some", sentence, explained, entries)
}

/// Returns true if the refusals are many, and more than one operation both refuses and accepts the key.
fn is_known_to_some(broken: &Broken<'_, '_>, key: &Acceptance) -> bool {
    let operations = |places: &[usize]| -> BTreeSet<&str> {
        places.iter().map(|at| broken.entries()[*at].operation.name()).collect()
    };
    let (refused, accepted) = (operations(&key.refused), operations(&key.accepted));
    // A new key may be known everywhere after some time.
    let accepted_between = key.accepted.iter().filter(|at| Some(*at) < key.refused.last()).count();
    let is_habit = key.refused.len() >= SEVERAL && key.refused.len() * (ONE_IN - 1) >= accepted_between;
    is_habit && refused.intersection(&accepted).count() > 1
}

/// The seconds after which the key was always accepted, if that was for longer than before.
fn known_after(broken: &Broken<'_, '_>, key: &Acceptance) -> Option<i64> {
    let at = |place: &usize| -> &Entry<'_> { &broken.entries()[*place] };
    let (first, last) = (key.accepted.first().map(at)?, key.accepted.last().map(at)?);
    let until = key.refused.last().map(at)?;
    let refused_for = until.exchange.received_at.duration_since(first.exchange.sent_at);
    let accepted_for = last.exchange.received_at.duration_since(until.exchange.received_at);
    (accepted_for > refused_for.max(Tolerance::MINUTE.duration() / 2)).then_some(refused_for.as_secs().max(0) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use crate::trace_builder::TraceBuilder;

    /// A list and a fetch in each round, with these status codes.
    fn rounds(statuses: &[[u16; 2]]) -> TraceBuilder {
        statuses.iter().fold(TraceBuilder::new(), |builder, [list, fetch]| {
            let listed = builder.wait(2).list(*list, 50, 60);
            let shown = if *fetch == 200 { crate::trace_builder::animal(7, "sold") } else { String::new() };
            listed.fetch(7, *fetch, shown)
        })
    }

    #[test]
    fn a_key_that_some_replicas_do_not_know_is_one_cause_of_all_failures() {
        let causes = shown(rounds(&[[200, 200], [401, 200], [200, 401], [401, 401], [200, 200]]));
        let sentence = "4 of 10 responses refuse the key with 401, although others accept it: is there a replica that does not know it?";
        let explains = |id: &str| causes.iter().any(|(cause, ids)| cause == sentence && ids.contains(&id));
        assert!(["list.success", "get.success", "auth.valid-key"].into_iter().all(explains), "{causes:?}");
    }

    #[test]
    fn a_key_that_is_new_has_a_remedy() {
        let new = [[401, 200], [200, 401], [401, 200]].into_iter().chain([[200, 200]; 20]).collect::<Vec<_>>();
        let causes = shown(rounds(&new));
        assert!(causes.iter().any(|(cause, _)| cause.contains("none after the first 5 s")), "{causes:?}");
    }

    #[test]
    fn an_operation_that_refuses_every_key_has_another_cause() {
        let causes = shown(rounds(&[[200, 401], [200, 401], [200, 401], [200, 401], [200, 200]]));
        assert!(!causes.iter().any(|(cause, _)| cause.contains("replica")), "{causes:?}");
    }
}
