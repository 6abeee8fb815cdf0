//! Limited evidence: the parts of a requirement that held which a run cannot show, and the run that would show them.

use crate::facts::Facts;
use crate::history::Era;
use crate::trace::rate_limit;

/// The facts about a requirement that a run could not show, although it held. Rules state such facts themselves where they depend
/// on counts.
pub(super) fn unseen(id: &str, facts: &Facts<'_>) -> Option<String> {
    let unseen = match id {
        "quota.enforced" => limit_of_the_day,
        "versioning.lifetime" => removal,
        _ => return None,
    };
    unseen(facts).filter(|_| facts.history.is_run()).map(str::to_owned)
}

/// The number of seconds: a refusal whose window ends later than this is about a day.
const LONGER_THAN_A_MINUTE: i64 = 2 * 60;

fn limit_of_the_day(facts: &Facts<'_>) -> Option<&'static str> {
    let is_of_a_day = facts.history.entries.iter().filter(|entry| entry.is_limited()).any(|entry| {
        let window = entry.response().and_then(|response| rate_limit::read(response).window());
        window.is_some_and(|window| window.reset - entry.answered_at().as_second() > LONGER_THAN_A_MINUTE)
    });
    (!is_of_a_day).then_some("only the limit per minute was reached; a key whose day is nearly used up shows the other")
}

fn removal(facts: &Facts<'_>) -> Option<&'static str> {
    let is_before = facts.history.gets().all(|(entry, _)| facts.history.era(entry) == Era::Before);
    is_before
        .then_some("the operation is not removed before 5 December 2030; a server with a later clock shows that it is")
}

#[cfg(test)]
mod tests {
    use crate::catalogue::scope::Scope;
    use crate::trace_builder::TraceBuilder;
    use crate::verdict::judge;

    /// The part of a requirement that held which a trace could not show.
    fn unseen_of(id: &str, builder: TraceBuilder) -> Option<String> {
        let verdicts = judge(&builder.trace(), &Scope::default());
        verdicts.into_iter().find(|verdict| verdict.requirement.id == id).and_then(|verdict| verdict.reason)
    }

    #[test]
    fn before_the_removal_nothing_is_seen_of_it() {
        let fetched = |time| TraceBuilder::at(time).create(7).get(7, Some("sold"));
        let unseen = unseen_of("versioning.lifetime", fetched("2026-06-01T12:00:00Z"));
        assert!(unseen.is_some_and(|unseen| unseen.contains("a later clock")));
        assert_eq!(unseen_of("versioning.lifetime", fetched("2030-12-05T12:00:00Z")), None);
    }

    #[test]
    fn a_refusal_for_the_minute_shows_nothing_of_the_day() {
        let exhausted = |window| {
            let full = TraceBuilder::new().window(window).lists(3, &[(200, 2), (200, 1), (200, 0), (429, 0)]);
            unseen_of("quota.enforced", full.retry_after(&window.to_string()))
        };
        assert!(exhausted(60).is_some_and(|unseen| unseen.contains("a key whose day")));
        assert_eq!(exhausted(3_600), None);
    }
}
