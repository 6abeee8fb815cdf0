//! Two limiters, one in front of the other, each with rate-limit headers of its own.

use std::collections::BTreeSet;

use animal_store_rules::history::Entry;
use animal_store_rules::trace::rate_limit::Field;

use super::{Broken, Cause};

/// The cause where every response has the three headers twice, or refusals report a Limit that no other response reports.
pub(super) fn second(broken: &Broken<'_, '_>) -> Option<Cause> {
    let doubled: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| is_doubled(entry)).collect();
    if !doubled.is_empty() {
        let sentence =
            "responses have the X-RateLimit-* headers twice: does a second limiter, such as a gateway, add its own?"
                .to_owned();
        let explained = broken.explained_by(&["headers.", "quota."], is_doubled);
        return Cause::shown_by("second-limiter", sentence, explained, doubled);
    }
    broken.facts.limiter.keys().iter().find_map(|key| {
        let (mut admitted, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for answer in key.answers() {
            let limits = if answer.entry.is_limited() { &mut refused } else { &mut admitted };
            limits.insert(answer.window.limit);
        }
        let (only, None) = (refused.iter().next()?, refused.iter().nth(1)) else { return None };
        if admitted.is_empty() || admitted.contains(only) {
            return None;
        }
        let usual: Vec<String> = admitted.iter().map(u64::to_string).collect();
        let sentence = format!(
            "each 429 reports Limit {only}, and every other response Limit {}: does a second limiter in front of the service send the 429?",
            usual.join(" or ")
        );
        let is_refusal = |entry: &Entry<'_>| entry.is_limited() && entry.key() == Some(key.index());
        let explained = broken.explained_by(&["headers.", "quota."], is_refusal);
        Cause::shown_by("second-limiter", sentence, explained, broken.entries().iter().filter(|entry| is_refusal(entry)))
    })
}

/// Returns true if the response to a request with a key has a rate-limit header more than once.
fn is_doubled(entry: &Entry<'_>) -> bool {
    let is_repeated = |(_, field): &(&str, &Field)| **field == Field::Repeated;
    entry.key().is_some() && entry.rate.as_ref().is_some_and(|rate| rate.fields().iter().any(is_repeated))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ids, shown};
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_limiter_in_front_with_headers_of_its_own_is_named() {
        let lists = || TraceBuilder::new().lists(60, &[(200, 9), (200, 8)]);
        let doubled = lists().header("x-ratelimit-limit", "100").list(200, 6, 60).header("x-ratelimit-limit", "100");
        assert!(ids(doubled).contains(&"second-limiter"));
        let refused = |limit| {
            lists().list(429, 0, limit).plan(animal_store_rules::catalogue::plan::PLANS.first().map(|plan| plan.1))
        };
        let named = shown(refused(100)).into_iter().find(|(sentence, _)| sentence.contains("second limiter"));
        let (sentence, explained) = named.expect("a cause");
        assert!(sentence.starts_with("each 429 reports Limit 100, and every other response Limit 60:"), "{sentence}");
        assert!(explained.contains(&"headers.limit-figure"), "{explained:?}");
        assert!(!ids(refused(60)).contains(&"second-limiter"));
    }
}
