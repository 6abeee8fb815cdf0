//! Causes on a connection: the rest of one request, left unread, spoils the next one.

use std::collections::{BTreeSet, HashMap};

use animal_store_rules::history::Entry;
use animal_store_rules::trace::exchange::Connection;
use animal_store_rules::trace::rate_limit::Field;

use super::{Broken, Cause};

/// The cause where each request that follows a body on the kept connection is refused as if it were malformed: without rate-limit
/// headers, which every other refusal of the service has.
pub(super) fn unread_body(broken: &Broken<'_, '_>) -> Option<Cause> {
    let mut last_kept: HashMap<usize, &Entry<'_>> = HashMap::new();
    let mut spoilt: Vec<&Entry<'_>> = Vec::new();
    let mut is_refusal_bare_elsewhere = false;
    let mut has_refusal_with_headers = false;
    for entry in broken.entries() {
        let request = &entry.exchange.request;
        let is_kept = request.connection == Connection::Kept;
        let before = if is_kept { last_kept.insert(request.replica.unwrap_or_default(), entry) } else { None };
        if !entry.is_of_operation() || !matches!(entry.status(), Some(400..=599)) {
            continue;
        }
        let follows_body = before.is_some_and(|before| before.exchange.request.body.is_some());
        match (is_bare(entry), follows_body) {
            (false, _) => has_refusal_with_headers = true,
            (true, true) => spoilt.push(entry),
            (true, false) => is_refusal_bare_elsewhere = true,
        }
    }
    if is_refusal_bare_elsewhere || !has_refusal_with_headers {
        return None;
    }
    let numbers: BTreeSet<usize> = spoilt.iter().map(|entry| entry.exchange.number).collect();
    let explained = broken.explained_by(&[""], |entry| numbers.contains(&entry.exchange.number));
    let sentence = "after a request with a body, the next request on the same connection is refused as malformed: does the server \
                    leave the body unread?";
    Cause::shown_by("unread-body", sentence, explained, spoilt)
}

/// Returns true if a response has none of the three rate-limit headers.
pub(super) fn is_bare(entry: &Entry<'_>) -> bool {
    entry.rate.as_ref().is_some_and(|rate| rate.fields().iter().all(|(_, field)| **field == Field::Missing))
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::trace::exchange::Request;

    const ERROR: &str = r#"{"code":"c","message":"m","status":400}"#;

    /// A creation that is refused on the kept connection, and a fetch that gets 400 then.
    fn refused_after_a_body(fetch: Request) -> TraceBuilder {
        let create = Request::new("POST", "/pets").json("null").kept();
        TraceBuilder::new().ask(create, 400, ERROR.to_owned()).with_rate_limit(9, 60).ask(fetch, 400, ERROR.to_owned())
    }

    #[test]
    fn a_body_that_is_left_on_the_connection_is_named() {
        let fetch = || Request::new("GET", "/pets/9223372036854775807");
        let explained = |builder: TraceBuilder| {
            let causes =
                shown(builder).into_iter().filter(|(sentence, _)| sentence.ends_with("leave the body unread?"));
            causes.flat_map(|(_, requirements)| requirements).collect::<Vec<_>>()
        };
        let named = explained(refused_after_a_body(fetch().kept()));
        assert!(named.contains(&"get.not-found") && named.contains(&"headers.limit"), "{named:?}");
        assert_eq!(explained(refused_after_a_body(fetch())), [""; 0], "on a connection of its own");
        let with_headers = refused_after_a_body(fetch().kept()).with_rate_limit(8, 60);
        assert_eq!(explained(with_headers), [""; 0], "the service itself refuses such an id");
        let everywhere = refused_after_a_body(fetch().kept()).ask(fetch(), 400, ERROR.to_owned());
        assert_eq!(explained(everywhere), [""; 0], "no refusal of such an id has headers");
    }
}
