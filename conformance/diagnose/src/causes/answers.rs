//! Causes that the statuses and headers of responses show.

use std::collections::BTreeSet;

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Operation};
use animal_store_rules::trace::exchange::{FailureKind, Outcome};
use animal_store_rules::trace::rate_limit::FIELDS;

use super::connections::is_bare;
use super::{Broken, Cause, remaining};

/// The number of answers that make a habit.
const SEVERAL: usize = 3;

/// The status that all of several answers have.
fn common_status(answers: &[&Entry<'_>]) -> Option<u16> {
    let status = answers.first()?.status()?;
    let is_common = answers.len() >= SEVERAL && answers.iter().all(|entry| entry.status() == Some(status));
    is_common.then_some(status)
}

/// The number of things in words: those for one of them, or the number with the noun.
fn counted(count: usize, one: &str, noun: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {noun}") }
}

/// The cause where every answer to the key had the same 5xx status.
pub(super) fn always_failing(broken: &Broken<'_, '_>) -> Option<Cause> {
    let keyed: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| entry.key().is_some()).collect();
    let status = common_status(&keyed).filter(|status| (500..=599).contains(status))?;
    let has_status = |entry: &Entry<'_>| entry.status() == Some(status);
    let whose = if broken.entries().iter().all(has_status) { "every response" } else { "every response to the key" };
    let question = if (502..=504).contains(&status) { ": is the backend up?" } else { "" };
    let all = broken.explained_by(&[""], has_status);
    Cause::shown_by("every-answer-fails", format!("{whose} was {status}{question}"), all, keyed)
}

/// The cause where requests without a valid key were refused for the rate.
pub(super) fn limiter_first(broken: &Broken<'_, '_>) -> Option<Cause> {
    let is_limited = |entry: &Entry<'_>| entry.credential.is_invalid() && entry.status() == Some(429);
    let explained = broken.explained_by(&["auth."], is_limited);
    let limited: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| is_limited(entry)).collect();
    let sentence = format!(
        "the limiter runs before authentication: 429 for {} without a valid key",
        counted(limited.len(), "a request", "requests")
    );
    Cause::shown_by("limiter-before-authentication", sentence, explained, limited)
}

/// The cause where invalid bodies are refused with one status other than 400.
pub(super) fn another_refusal(broken: &Broken<'_, '_>) -> Option<Cause> {
    let is_refused = |entry: &&Entry<'_>| {
        let is_faulty = matches!(entry.operation, Operation::Create(CreateBody::Faulty(..)));
        is_faulty && entry.key().is_some() && matches!(entry.status(), Some(400..=499)) && !entry.is_limited()
    };
    let refused: Vec<&Entry<'_>> = broken.entries().iter().filter(is_refused).collect();
    let status = common_status(&refused).filter(|status| *status != 400)?;
    let explained = broken.explained_by(&["create."], |entry| is_refused(&entry) && entry.status() == Some(status));
    let sentence = format!("the server refuses invalid bodies with {status} instead of 400");
    Cause::shown_by("another-status-for-invalid-bodies", sentence, explained, refused)
}

/// The cause where requests are refused with one status other than 429 once nothing remains. A 401 has the figures of callers without a key.
pub(super) fn limited_with_another_status(broken: &Broken<'_, '_>) -> Option<Cause> {
    let is_refused = |entry: &&Entry<'_>| {
        is_spent(entry) && entry.operation.is_certainly_valid() && matches!(entry.status(), Some(400..=599))
    };
    let refused: Vec<&Entry<'_>> = broken.entries().iter().filter(is_refused).collect();
    let status = common_status(&refused).filter(|status| !matches!(status, 401 | 429))?;
    let explained = broken.explained_by(&[""], |entry| is_spent(entry) && entry.status() == Some(status));
    let sentence = format!("the server answers {status} instead of 429 when no requests remain");
    Cause::shown_by("another-status-for-429", sentence, explained, refused)
}

/// Returns true if the response to a request with a key reports Remaining 0.
fn is_spent(entry: &Entry<'_>) -> bool {
    entry.key().is_some() && remaining(entry) == Some(0)
}

/// The cause where requests are refused with 403 and a time to wait, although some remain.
pub(super) fn secondary_limit(broken: &Broken<'_, '_>) -> Option<Cause> {
    let is_refused = |entry: &Entry<'_>| {
        entry.key().is_some() && entry.status() == Some(403) && entry.wait_asked_for().is_some() && !is_spent(entry)
    };
    let refused: Vec<&Entry<'_>> = broken.entries().iter().filter(|entry| is_refused(entry)).collect();
    let explained = broken.explained_by(&[""], is_refused);
    let sentence = format!(
        "the server answered 403 with Retry-After {} although requests remained: is there a second limit in front of the \
         service? Over a limit, the specification requires 429",
        counted(refused.len(), "once", "times")
    );
    Cause::shown_by("secondary-limit", sentence, explained, refused)
}

/// The cause where connections end without a response once nothing remains.
pub(super) fn dropped_over_the_limit(broken: &Broken<'_, '_>) -> Option<Cause> {
    let mut left = None;
    let mut dropped: Vec<&Entry<'_>> = Vec::new();
    for entry in broken.entries().iter().filter(|entry| entry.key().is_some()) {
        let is_dropped = matches!(&entry.exchange.outcome,
            Outcome::Failed(failure) if failure.kind.is_end() || failure.kind == FailureKind::Broken);
        if is_dropped && left == Some(0) {
            dropped.push(entry);
        }
        left = remaining(entry).or(left);
    }
    let numbers: BTreeSet<usize> = dropped.iter().map(|entry| entry.exchange.number).collect();
    let explained = broken.explained_by(&[""], |entry| numbers.contains(&entry.exchange.number));
    let sentence = format!(
        "{} without a response instead of 429 when no requests remained: does the server drop connections over the limit?",
        counted(dropped.len(), "a connection ended", "connections ended")
    );
    Cause::shown_by("dropped-over-the-limit", sentence, explained, dropped)
}

/// The cause where all answers of a kind come without any of the three rate-limit headers.
pub(super) fn without_headers(broken: &Broken<'_, '_>) -> Option<Cause> {
    let answers: Vec<&Entry<'_>> =
        broken.entries().iter().filter(|entry| entry.is_of_operation() && entry.rate.is_some()).collect();
    let bare: Vec<&Entry<'_>> = answers.iter().copied().filter(|entry| is_bare(entry)).collect();
    if bare.len() < SEVERAL {
        return None;
    }
    let explained = broken.explained_by(&["headers.limit", "headers.remaining", "headers.reset"], is_bare);
    if explained.len() < 2 {
        return None;
    }
    // The answers that fit may be exactly the answers without the headers.
    let are_bare = |fits: &dyn Fn(&Entry<'_>) -> bool| answers.iter().all(|entry| fits(entry) == is_bare(entry));
    let statuses: BTreeSet<u16> = bare.iter().filter_map(|entry| entry.status()).collect();
    let operations: BTreeSet<&str> = bare.iter().map(|entry| entry.operation.name()).collect();
    let sentence = if bare.len() == answers.len() {
        match similar_names(&bare) {
            names if names.is_empty() => "no response has rate-limit headers: is there a limiter?".to_owned(),
            names => format!("the rate-limit headers have other names: {} were seen", names.join(", ")),
        }
    } else if are_bare(&|entry| entry.credential.is_invalid()) {
        "no response to a request without a valid key has rate-limit headers: does the limiter run after authentication?"
            .to_owned()
    } else if are_bare(&|entry| entry.status().is_some_and(|status| statuses.contains(&status))) {
        let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
        format!(
            "no response with {} has rate-limit headers: does another component send these responses?",
            statuses.join(" or ")
        )
    } else if are_bare(&|entry| operations.contains(entry.operation.name())) {
        let operations: Vec<&str> = operations.into_iter().collect();
        format!(
            "no response to {} has rate-limit headers: does the limiter skip this operation?",
            operations.join(" or ")
        )
    } else {
        return None;
    };
    Cause::shown_by("no-rate-limit-headers", sentence, explained, bare)
}

/// The names of header fields that resemble those of the rate limit: `ratelimit-limit` and `x-rate-limit-remaining`, for example.
fn similar_names(entries: &[&Entry<'_>]) -> Vec<String> {
    let names = entries.iter().filter_map(|entry| entry.response()).flat_map(|response| &response.headers);
    let is_similar = |name: &str| {
        let bare = name.to_ascii_lowercase().replace(['-', '_'], "");
        let bare = bare.strip_prefix('x').unwrap_or(&bare);
        bare.starts_with("ratelimit") && !FIELDS.contains(&name)
    };
    let similar: BTreeSet<&str> = names.map(|(name, _)| name.as_str()).filter(|name| is_similar(name)).collect();
    similar.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ids, shown};
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::trace::exchange::{Failure, FailureKind, Outcome, Request};

    #[test]
    fn a_server_that_always_fails_has_one_cause() {
        let failing = |statuses: &[u16]| {
            statuses.iter().fold(TraceBuilder::new(), |builder, status| builder.list(*status, 9, 60))
        };
        let causes = shown(failing(&[502, 502, 502]));
        assert_eq!(causes[0].0, "every response was 502: is the backend up?");
        assert!(causes.len() == 1 && causes[0].1.contains(&"list.success"), "{causes:?}");
        assert_eq!(shown(failing(&[500, 500, 500]))[0].0, "every response was 500");
        let guarded = failing(&[503, 503, 503]).key("sk-Unknown").list(401, 9, 60);
        assert_eq!(shown(guarded)[0].0, "every response to the key was 503: is the backend up?");
        for few in [&[502, 200, 502, 502][..], &[502, 502]] {
            assert!(!ids(failing(few)).contains(&"every-answer-fails"), "{few:?}");
        }
        assert!(ids(failing(&[502; 4])).contains(&"every-answer-fails"));
    }

    #[test]
    fn a_403_that_asks_to_wait_is_a_second_limit_and_others_are_not() {
        let forbidden = |retry_after: Option<&str>, remaining| {
            let builder = TraceBuilder::new().list(200, 10, 60).list(403, remaining, 60);
            match retry_after {
                Some(seconds) => ids(builder.header("retry-after", seconds)),
                None => ids(builder),
            }
        };
        assert!(forbidden(Some("1"), 9).contains(&"secondary-limit"));
        assert!(!forbidden(Some("1"), 0).contains(&"secondary-limit"));
        assert!(!forbidden(Some("soon"), 9).contains(&"secondary-limit"));
        assert!(!forbidden(None, 9).contains(&"secondary-limit"));
    }

    #[test]
    fn connections_that_end_with_nothing_remaining_are_dropped_for_the_limit() {
        let dropped_after = |remaining| {
            let builder = TraceBuilder::new().list(200, remaining, 60).list(200, 9, 60).change_last(|exchange| {
                exchange.outcome = Outcome::Failed(Failure { kind: FailureKind::Closed, detail: String::new() });
            });
            ids(builder).contains(&"dropped-over-the-limit")
        };
        assert!(dropped_after(0) && !dropped_after(1));
    }

    #[test]
    fn a_limiter_before_authentication_shows_in_429_without_a_valid_key() {
        let unknown = TraceBuilder::new().list(200, 3, 60).key("sk-Unknown").list(401, 1, 60);
        assert_eq!(
            shown(unknown.list(429, 0, 60).list(429, 0, 60)),
            [(
                "the limiter runs before authentication: 429 for 2 requests without a valid key".to_owned(),
                vec!["auth.before-all-else"]
            )]
        );
        let hole = TraceBuilder::new().key("sk-Unknown").list(200, 1, 60);
        assert!(!ids(hole).contains(&"limiter-before-authentication"));
    }

    fn refusals(statuses: &[u16]) -> TraceBuilder {
        let bodies = ["{\"categoryId\":1}", "{\"name\":\"Rex 1\"}", "[]"];
        bodies.into_iter().zip(statuses).fold(TraceBuilder::new(), |builder, (body, status)| {
            builder.ask(Request::new("POST", "/pets").json(body), *status, String::new()).with_rate_limit(9, 60)
        })
    }

    #[test]
    fn one_other_status_for_every_invalid_body_is_one_cause() {
        let causes = shown(refusals(&[422, 422, 422]));
        assert_eq!(causes[0].0, "the server refuses invalid bodies with 422 instead of 400");
        assert_eq!(causes[0].1, ["create.name-required", "create.category-required", "create.body-required"]);
        for statuses in [&[422, 422, 400][..], &[422, 409, 422], &[422, 422]] {
            assert!(!ids(refusals(statuses)).contains(&"another-status-for-invalid-bodies"), "{statuses:?}");
        }
        let partly = shown(refusals(&[422, 422, 422]).ask(
            Request::new("POST", "/pets").json("{\"categoryId\":2}"),
            201,
            String::new(),
        ));
        assert!(!partly[0].1.contains(&"create.name-required"), "a body that was accepted is another matter");
        let valid = Request::new("POST", "/pets").json("{\"name\":\"Rex 2\",\"categoryId\":1}");
        let refused = shown(refusals(&[422, 422, 422]).ask(valid, 422, String::new()));
        assert!(!refused[0].1.contains(&"create.success"), "nor is a valid one that was refused: {refused:?}");
    }

    #[test]
    fn one_other_status_where_429_is_due_is_one_cause() {
        let spent = |statuses: &[u16]| {
            statuses.iter().fold(TraceBuilder::new().list(200, 0, 60), |builder, status| builder.list(*status, 0, 60))
        };
        let causes = shown(spent(&[503, 503, 503]));
        assert_eq!(causes[0].0, "the server answers 503 instead of 429 when no requests remain");
        assert_eq!(causes[0].1, ["list.success", "quota.enforced"]);
        for statuses in [&[429, 429, 429][..], &[401, 401, 401], &[503, 429, 503], &[503, 500, 503], &[503, 503]] {
            assert!(!ids(spent(statuses)).contains(&"another-status-for-429"), "{statuses:?}");
        }
        let earlier = TraceBuilder::new().list(503, 9, 60).lists(60, &[(200, 0), (503, 0), (503, 0), (503, 0)]);
        assert_eq!(shown(earlier)[0].1, ["quota.enforced"], "with some remaining it is another matter");
    }

    #[test]
    fn missing_headers_are_one_cause_where_all_answers_of_a_kind_lack_them() {
        let bare_lists = |count, builder: TraceBuilder| {
            (0..count).fold(builder, |builder, _| builder.ask(Request::new("GET", "/pets"), 401, String::new()))
        };
        let bare = |builder| bare_lists(3, builder);
        let sentence = |builder: TraceBuilder| {
            let of = shown(builder).into_iter().find(|(sentence, _)| sentence.contains("rate-limit headers"));
            of.map(|(sentence, ids)| (sentence, ids.len()))
        };
        let listed = || TraceBuilder::new().list(200, 9, 60);
        assert_eq!(
            sentence(bare(TraceBuilder::new())),
            Some(("no response has rate-limit headers: is there a limiter?".to_owned(), 3))
        );
        let renamed = bare(TraceBuilder::new()).change_each(|exchange| {
            if let Outcome::Response(response) = &mut exchange.outcome {
                response.headers.push(("x-rate-limit-limit".to_owned(), "60".to_owned()));
                response.headers.push(("ratelimit-remaining".to_owned(), "59".to_owned()));
            }
        });
        let names = "the rate-limit headers have other names: ratelimit-remaining, x-rate-limit-limit were seen";
        assert_eq!(sentence(renamed).map(|(text, _)| text).as_deref(), Some(names));
        let keyless = sentence(bare(listed().key("sk-Unknown")));
        assert!(keyless.is_some_and(|(text, _)| text.contains("after authentication")));
        let by_status = sentence(bare(listed().key("sk-Unknown").list(404, 9, 60)));
        assert!(by_status.is_some_and(|(text, _)| text.starts_with("no response with 401 has")));
        assert_eq!(sentence(bare(listed()).list(401, 9, 60)), None, "some have them");
        assert_eq!(sentence(bare_lists(2, TraceBuilder::new())), None, "too few");
        let elsewhere = Request::new("GET", "/conform-no-such-path");
        let beside = sentence(bare(TraceBuilder::new()).ask(elsewhere, 404, String::new()).with_rate_limit(9, 60));
        assert!(beside.is_some_and(|(text, _)| text.starts_with("no response has")), "another path is no matter");
        let unreadable = |limit: &str, remaining: &str| {
            let other = bare(listed()).list(200, 9, 60).without_rate_limit().header("x-ratelimit-limit", limit);
            sentence(other.header("x-ratelimit-remaining", remaining).header("x-ratelimit-reset", "1780315260"))
        };
        assert_eq!(unreadable("many", "9").map(|(_, count)| count), Some(2), "what else is wrong is another matter");
        assert_eq!(unreadable("many", "few"), None);
    }
}
