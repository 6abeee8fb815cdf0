//! Content of a 429: a `Retry-After` that can be parsed and is correct, and, if there is a body, an Error.

use jiff::SignedDuration;

use super::errors::{misshapen, other_status};
use crate::facts::Facts;
use crate::history::Entry;
use crate::limits::{Answer, KeyLimits, Kind};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::tolerance::Tolerance;
use crate::trace::exchange::Response;
use crate::trace::retry_after;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("quota.retry-after", |entry| entry.is_limited(), has_retry_after).needing(Needs::HEADERS),
    Rule::of_keys("quota.recovers", recovers).needing(Needs::LIMITS),
    Rule::of_entries("quota.error-body", |entry| entry.is_limited(), error_body).needing(Needs::RESPONSE),
];

fn has_retry_after(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let Some(read) = entry.response().map(retry_after::read) else { return };
    let problem = read.err().map(|problem| sentence!("429 with {}", problem));
    judgement.require_no_defect(entry, "one Retry-After, in whole seconds or as an HTTP-date", problem);
}

fn recovers(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let answers = key.answers();
    for (index, limited) in answers.iter().enumerate().filter(|(_, answer)| answer.entry.is_limited()) {
        let Some(wait) = limited.entry.wait_asked_for() else { continue };
        let is_first = index == 0 || !answers[index - 1].entry.is_limited();
        // If the wait is not certain, the server's clock may be off by a day.
        let off = if is_wait_certain(limited.entry) { SignedDuration::ZERO } else { Tolerance::DAY.duration() };
        if is_first && wait > Tolerance::LONGEST_FIRST_WAIT.duration() + off {
            let found = sentence!("a first 429 that asks for a wait of {} days", wait.as_secs() / 86_400);
            judgement.fail(&[limited.entry], "a Retry-After within the day, the longest window there is", found);
            continue;
        }
        if let Some(served) = served_long_before(facts, &answers[index..]).filter(|_| is_first) {
            let waited = served.entry.exchange.sent_at.duration_since(limited.entry.exchange.received_at);
            let found =
                sentence!("it asks for {} s, and {} s later the key was served", wait.as_secs(), waited.as_secs());
            judgement.fail(
                &[limited.entry, served.entry],
                "a Retry-After that ends about when the limit resets",
                found,
            );
            continue;
        }
        // Only the request after the last 429 of a series shows whether the key recovers.
        let Some(next) = answers.get(index + 1).filter(|next| !next.entry.is_limited()) else { continue };
        if next.entry.exchange.sent_at.duration_since(limited.entry.exchange.received_at) >= wait {
            judgement.hold();
        }
    }
    judgement.fail_all(key.explanation().of_kinds(&[Kind::StillLimited]));
    // A refusal in a window whose Reset has restored nothing: the key was refused although the announced time had passed.
    for finding in key.explanation().not_restored() {
        let first = finding.entries[0];
        let Some(window) = finding.window(0) else { continue };
        let mut refused = answers.iter().filter(|answer| answer.entry.is_limited() && first.precedes(answer.entry));
        if let Some(refused) = refused.find(|answer| window.is_same(answer.window)) {
            let left_over = finding.found - finding.bound;
            let found =
                sentence!("429 in a window that began with {} used, as many as the one before ended with", left_over);
            judgement.fail(&[refused.entry, first], "the whole limit after the reset has passed", found);
        }
    }
}

/// The first success in the first half of the wait that a first refusal asks for, if that wait is longer than a minute. Neither an
/// exhausted day nor a ban ends so early.
fn served_long_before<'a, 'h>(facts: &Facts<'_>, answers: &'a [Answer<'h>]) -> Option<&'a Answer<'h>> {
    let (limited, later) = answers.split_first()?;
    let wait = limited.entry.wait_asked_for().filter(|_| facts.history.is_run() && is_wait_certain(limited.entry))?;
    if wait <= Tolerance::LONGEST_MINUTE.duration() + Tolerance::LONGER_WAIT.duration() {
        return None;
    }
    later.iter().find(|next| {
        let waited = next.entry.exchange.received_at.duration_since(limited.entry.exchange.sent_at);
        next.entry.succeeded() && limited.precedes(next) && waited * 2 < wait
    })
}

/// Returns true if the wait that a refusal asks for is certain: a number of seconds, or a date beside a `Date` of the response.
fn is_wait_certain(limited: &Entry<'_>) -> bool {
    limited.asks_in_seconds() || limited.server_time().is_some()
}

fn error_body(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let media_type = entry.response().and_then(Response::media_type);
    let labelled = media_type.as_deref() == Some("application/json");
    let label =
        (!labelled).then(|| sentence!("a body labelled {}", media_type.as_deref().unwrap_or("as nothing").to_owned()));
    let problem = misshapen(entry).or(label).or_else(|| other_status(entry));
    let problem = problem.filter(|_| entry.json.is_some()).map(|problem| sentence!("429 with {}", problem));
    judgement.require_no_defect(entry, "an Error, or an empty body", problem);
}

#[cfg(test)]
mod tests;
