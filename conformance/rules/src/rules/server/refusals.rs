//! Content of a 429: a `Retry-After` that can be parsed and suffices, and, if there is a body, an Error.

use jiff::SignedDuration;

use super::errors::{misshapen, other_status};
use crate::facts::Facts;
use crate::history::{Entry, answered};
use crate::limits::{KeyLimits, Kind, Others};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::exchange::Response;
use crate::trace::retry_after::{self, RETRY_AFTER};

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("quota.retry-after", |entry| entry.is_limited(), has_retry_after).needing(Needs::HEADERS),
    Rule::of_entries("quota.retry-after-syntax", has_any_retry_after, retry_after_syntax).needing(Needs::HEADERS),
    Rule::of_keys("quota.retry-after-suffices", retry_after_suffices).needing(Needs::LIMITS),
    Rule::of_keys("quota.recovers", recovers).needing(Needs::LIMITS),
    Rule::of_entries("quota.error-body", |entry| entry.is_limited(), error_body).needing(Needs::RESPONSE),
];

fn has_any_retry_after(entry: &Entry<'_>) -> bool {
    let told = |response: &Response| response.values(RETRY_AFTER).any(|value| !value.trim().is_empty());
    entry.is_limited() && entry.response().is_some_and(told)
}

fn has_retry_after(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let problem = (!has_any_retry_after(entry)).then_some("429 with no Retry-After");
    judgement.require_no_defect(entry, "a Retry-After", problem.map(Sentence::from));
}

fn retry_after_syntax(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let Some(read) = entry.response().map(retry_after::read) else { return };
    let problem = read.err().map(|problem| sentence!("429 with {}", problem));
    judgement.require_no_defect(entry, "one Retry-After, in whole seconds or as an HTTP-date", problem);
}

/// Judges the request after the first refusal that the requests of the run alone explain. A later refusal may be a ban, and other clients
/// may use what was restored.
fn retry_after_suffices(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let explanation = key.explanation();
    let Some(earned) = explanation.earned.filter(|_| facts.history.is_run()) else { return };
    let mut answers = key.answers().iter().map(|answer| answer.entry);
    let Some(limited) = answers.find(|entry| entry.exchange.number == earned.exchange.number) else { return };
    let Some((next, wait)) = answers.next().zip(limited.wait_asked_for()) else { return };
    let waited = next.exchange.sent_at.duration_since(limited.exchange.received_at);
    // A time before the response needs no wait. A longer pause gives clients that no response shows the time to use what was restored.
    let beyond = waited - wait.max(SignedDuration::ZERO);
    let slack = Tolerance::CLOCK_SLACK.duration();
    let least = if wait <= -slack { SignedDuration::ZERO } else { slack };
    let is_soon = (least..Tolerance::LONGER_WAIT.duration()).contains(&beyond);
    // A wait until a date is certain only beside a `Date` of the response.
    let is_certain = limited.asks_in_seconds() || limited.server_time().is_some();
    if explanation.hypothesis.others != Others::Nobody || !is_certain || !is_soon {
        return;
    }
    // One of several requests at once may take the place that there is.
    let mut at_once = answers.take_while(|entry| entry.exchange.sent_at < next.exchange.received_at);
    if next.is_limited() && at_once.all(|entry| entry.is_limited()) {
        let found =
            sentence!("{} after {} s, although {} s were asked for", answered(next), waited.as_secs(), wait.as_secs());
        judgement.fail(&[next, limited], "a Retry-After that ends when there is room for a request", found);
    } else {
        judgement.hold();
    }
}

fn recovers(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let answers = key.answers();
    for (index, limited) in answers.iter().enumerate().filter(|(_, answer)| answer.entry.is_limited()) {
        // A wait in an unknown unit ends with the window, as far as the header fields show.
        let until_reset = || has_any_retry_after(limited.entry).then(|| SignedDuration::from_secs(limited.left()));
        let Some(wait) = limited.entry.wait_asked_for().or_else(until_reset) else { continue };
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
