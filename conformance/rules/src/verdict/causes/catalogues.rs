//! Several catalogues where there should be one: replicas that do not show what was created at another one.

use super::{Broken, Cause};
use crate::fleet::Fleet;

/// What several catalogues break.
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

/// Replicas that have shown nothing of what was created at another one.
pub(super) fn of_replicas(broken: &Broken<'_, '_>) -> Option<Cause> {
    let apart = Fleet::of(broken.facts)?.storing_apart();
    let addresses: Vec<&str> = broken.facts.history.context.addresses().collect();
    let sentence = match apart[..] {
        [] => return None,
        _ if apart.len() == addresses.len() => "each replica shows only what was created at it".to_owned(),
        [one] => format!("the replica {} shows nothing that was created at another one", addresses[one]),
        _ => format!("{} replicas show nothing that was created at another one", apart.len()),
    };
    let explained = broken.explained(&BROKEN_BY_IT, |_| true);
    let shown = broken.verdicts().filter(|verdict| explained.contains(&verdict.requirement.id.as_str()));
    let shown: Vec<_> = shown.flat_map(|verdict| verdict.failures.iter().take(1)).collect();
    Cause::shown_by("catalogue-per-replica", sentence, explained, shown.into_iter().flat_map(|f| broken.entries_of(f)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_replica_that_shows_nothing_of_the_others_is_a_cause() {
        let created =
            || TraceBuilder::new().fleet(2).create(7).replica(0).create(8).replica(1).wait(6).get(7, None).replica(1);
        let causes = shown(created().get(8, None).replica(0));
        let is_each = |sentence: &str| sentence == "each replica shows only what was created at it";
        let each = causes.iter().find(|(sentence, _)| is_each(sentence)).expect("a cause");
        assert!(each.1.contains(&"get.success"), "{causes:?}");
        let causes = shown(created().get(8, Some("sold")).replica(0));
        let is_second = |sentence: &str| {
            sentence == "the replica http://127.0.0.1:2/v1 shows nothing that was created at another one"
        };
        assert!(causes.iter().any(|(sentence, _)| is_second(sentence)), "{causes:?}");
        let alone = shown(TraceBuilder::new().create(7).wait(6).get(7, None));
        assert!(!alone.iter().any(|(sentence, _)| sentence.contains("created at")), "one address: {alone:?}");
    }
}
