//! Responses that are served a second time: a cache.

use std::collections::HashMap;

use animal_store_rules::history::Entry;

use super::{Broken, Cause, remaining};

/// The cause where an answer was given a second time: to the same URL, with the same `Date`, rate-limit headers and body, although
/// time or Remaining had gone on meanwhile, or the caller was another.
pub(super) fn repeats_answers(broken: &Broken<'_, '_>) -> Option<Cause> {
    let entries = broken.entries();
    // An answer that is given again has the `Date` of the first one, which few answers share.
    let mut dated: HashMap<(&str, String), Vec<usize>> = HashMap::new();
    let mut copies: Vec<[&Entry<'_>; 2]> = Vec::new();
    for (at, copy) in entries.iter().enumerate() {
        let Some(date) = copy.response().and_then(|response| response.header("date")) else { continue };
        let alike = dated.entry((date, copy.exchange.request.target())).or_default();
        let first = alike.iter().rev().find(|first| is_copy(entries, **first, at));
        copies.extend(first.map(|first| [&entries[*first], copy]));
        alike.push(at);
    }
    let is_stale = |number: &usize| copies.iter().any(|[_, copy]| copy.exchange.number == *number);
    let explained = broken
        .explained(&["auth.", "get.", "headers.", "list.", "quota."], |failure| failure.exchanges.iter().any(is_stale));
    let [first, copy] = *copies.first()?;
    let sentence = format!(
        "two responses have the same {} and body: does a cache answer requests?",
        if remaining(copy).is_some() { "Remaining, Date" } else { "Date" }
    );
    Cause::shown_by("cache", sentence, explained, [first, copy])
}

/// Returns true if the second of these entries, which have one target and one `Date`, was answered with the response to the first.
fn is_copy(entries: &[Entry<'_>], at: usize, again: usize) -> bool {
    let (first, copy) = (&entries[at], &entries[again]);
    let (asked, repeated) = (&first.exchange.request, &copy.exchange.request);
    let is_like = asked.method == "GET" && repeated.method == "GET" && first.rate == copy.rate && first.precedes(copy);
    let (true, Some(one), Some(other)) = (is_like, first.response(), copy.response()) else { return false };
    if one.status != other.status || one.body != other.body {
        return false;
    }
    // `Date` is rounded to a second.
    let has_aged = copy.exchange.sent_at.duration_since(first.exchange.received_at).as_secs() >= 2;
    let has_key = first.key().is_some();
    let mut between = entries[at + 1..again].iter().filter(|entry| has_key && entry.key() == first.key());
    let was_lower =
        remaining(first).is_some_and(|left| between.any(|entry| remaining(entry).is_some_and(|later| later < left)));
    let is_another = has_key && copy.credential.is_invalid();
    has_aged || was_lower || is_another
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::trace::exchange::Request;

    fn orders(builder: TraceBuilder, remaining: u64) -> TraceBuilder {
        builder.ask(Request::new("GET", "/store/orders"), 200, "[]".to_owned()).with_rate_limit(remaining, 60)
    }

    #[test]
    fn an_answer_that_comes_again_after_lower_ones_is_a_copy() {
        let before = (0..20).fold(TraceBuilder::new().window(60), |builder, at| orders(builder, 59 - at));
        let falling = before.wait(60).window(60).list(200, 59, 60);
        let falling = (0..12).fold(falling, |builder, at| orders(builder, 58 - at));
        let cached = falling.list(200, 59, 60);
        let explained = vec!["headers.remaining-never-rises"];
        assert_eq!(
            shown(cached),
            [(
                "two responses have the same Remaining, Date and body: does a cache answer requests?".to_owned(),
                explained
            )]
        );
    }

    #[test]
    fn an_answer_to_the_key_that_comes_without_one_is_a_copy() {
        let causes = shown(TraceBuilder::new().list(200, 9, 60).key("sk-Unknown").list(200, 9, 60));
        assert!(causes[0].0.contains("a cache") && causes[0].1.contains(&"auth.invalid-key"), "{causes:?}");
    }
}
