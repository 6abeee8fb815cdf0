//! Waiting as long as `Retry-After` says.
//!
//! A date can be read in one way only, so sending before it has passed breaks what the specification states. That a number means
//! seconds is inferred from RFC 9110 §10.2.3, because the specification leaves the unit open.

use jiff::Timestamp;

use super::of_key;
use crate::facts::Facts;
use crate::history::Entry;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::tolerance::Tolerance;
use crate::trace::retry_after::{self, RetryAfter};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("client.retry-after-date", date).needing(Needs::WAITS),
    Rule::new("client.retry-after-seconds", seconds).needing(Needs::WAITS),
];

fn date(facts: &Facts<'_>, judgement: &mut Judgement) {
    waits(facts, judgement, |form| matches!(form, RetryAfter::Date(_)), "a date");
}

fn seconds(facts: &Facts<'_>, judgement: &mut Judgement) {
    waits(facts, judgement, |form| matches!(form, RetryAfter::Seconds(_)), "a number of seconds");
}

fn waits(
    &Facts { history, .. }: &Facts<'_>,
    judgement: &mut Judgement,
    is_of_form: fn(RetryAfter) -> bool,
    described: &str,
) {
    let mut is_met = false;
    for key in 0..history.context.keys.len() {
        let entries = of_key(history, key);
        for (at, entry) in entries.iter().enumerate() {
            let Some(form) = form(entry).filter(|form| is_of_form(*form)) else { continue };
            let Some(until) = earliest_return(&entries, at) else { continue };
            is_met = true;
            // The next request that could know of this response, unless a later response is the one to go by.
            let next =
                entries[at + 1..].iter().find(|next| entry.precedes(next) && !is_in_the_wake(entry, next, &entries));
            match next {
                Some(next) if next.exchange.sent_at + Tolerance::CLIENT_SLACK.duration() < until => {
                    let after = next.exchange.sent_at.duration_since(entry.exchange.received_at).as_secs_f64();
                    judgement.fail(
                        &[next, entry],
                        format!("no request with this key until the time of {} has come", words(form)),
                        format!("the next request was sent {after:.1} s after the 429"),
                    );
                }
                Some(_) => judgement.hold(),
                // A client that gave up has waited, if the trace goes on for long enough to show it.
                None if history.entries.iter().any(|other| other.exchange.sent_at >= until) => judgement.hold(),
                None => {}
            }
        }
    }
    if judgement.judged == 0 {
        judgement.unseen = Some(if is_met {
            format!("after the last 429 with {described} in Retry-After, the clients sent nothing more")
        } else {
            format!("the clients received no 429 with {described} in Retry-After")
        });
    }
}

/// `Retry-After` of a refusal for the rate, if it can be read.
pub(super) fn form(entry: &Entry<'_>) -> Option<RetryAfter> {
    let response = entry.response().filter(|response| response.status == 429)?;
    retry_after::read(response).ok()
}

/// The time that one refusal asks to wait for, by the clock of the trace. A date may be taken by the client's own clock or by the
/// server's `Date`: the earlier of the two counts.
pub(super) fn until(entry: &Entry<'_>) -> Option<Timestamp> {
    let received = entry.exchange.received_at;
    let form = form(entry)?;
    let relative = received.checked_add(form.wait(entry.answered_at())).ok()?;
    match form {
        RetryAfter::Seconds(_) => Some(relative),
        RetryAfter::Date(date) => Some(relative.min(date)),
    }
}

/// The earliest time that any of the refusals asks for that were under way together with this one: requests that were sent
/// together may be taken up again each by its own answer.
fn earliest_return(entries: &[&Entry<'_>], at: usize) -> Option<Timestamp> {
    let together = entries.iter().filter(|other| !other.precedes(entries[at]) && !entries[at].precedes(other));
    together.filter_map(|other| until(other)).min()
}

/// Whether a request may have been on its way out when the refusal came, although the trace has it a moment later: only where
/// the client has several requests under way at a time.
fn is_in_the_wake(refusal: &Entry<'_>, next: &Entry<'_>, entries: &[&Entry<'_>]) -> bool {
    let soon = next.exchange.sent_at.duration_since(refusal.exchange.received_at) < Tolerance::CLIENT_SLACK.duration();
    let overlaps = |one: &Entry<'_>| {
        entries.iter().any(|other| !std::ptr::eq(*other, one) && !other.precedes(one) && !one.precedes(other))
    };
    soon && (overlaps(refusal) || overlaps(next))
}

fn words(form: RetryAfter) -> String {
    match form {
        RetryAfter::Seconds(seconds) => format!("Retry-After: {seconds}"),
        RetryAfter::Date(date) => {
            format!("Retry-After: {}", date.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    fn broken_by(builder: TraceBuilder) -> Vec<&'static str> {
        builder.client_broken()
    }

    /// At noon the key is refused with this `Retry-After`; so much later the client sends again.
    fn sent_again(retry_after: &str, seconds: i64) -> Vec<&'static str> {
        broken_by(TraceBuilder::new().list(429, 0, 60).retry_after(retry_after).wait(seconds).list(200, 59, 60))
    }

    #[test]
    fn a_request_before_the_seconds_are_over_is_too_early() {
        assert_eq!(sent_again("30", 10), ["client.retry-after-seconds"]);
        assert_eq!(sent_again("30", 30), [""; 0]);
        assert_eq!(sent_again("30", 29), [""; 0], "a second of slack");
        assert_eq!(sent_again("30", 0), ["client.retry-after-seconds"]);
    }

    #[test]
    fn a_request_before_the_date_is_too_early() {
        let date = "Mon, 01 Jun 2026 12:00:30 GMT";
        assert_eq!(sent_again(date, 10), ["client.retry-after-date"]);
        assert_eq!(sent_again(date, 30), [""; 0]);
        assert_eq!(sent_again("Mon, 01 Jun 2026 11:00:00 GMT", 1), [""; 0], "a date in the past asks for no wait");
    }

    #[test]
    fn another_key_need_not_wait_and_what_cannot_be_read_asks_for_nothing() {
        let refused = || TraceBuilder::new().list(429, 0, 60).retry_after("30");
        assert_eq!(broken_by(refused().key("sk-Other").list(200, 59, 60)), [""; 0]);
        assert_eq!(sent_again("soon", 0), [""; 0]);
    }

    #[test]
    fn a_request_that_was_under_way_is_not_too_early() {
        let together = TraceBuilder::new().list(429, 0, 60).retry_after("30").list(200, 1, 60).slow(5);
        assert_eq!(broken_by(together), [""; 0]);
    }

    #[test]
    fn a_client_that_gives_up_is_judged_only_if_the_trace_goes_on() {
        let judged = |builder: TraceBuilder| builder.client_judged("client.retry-after-seconds");
        let refused = || TraceBuilder::new().list(429, 0, 60).retry_after("30");
        assert_eq!(judged(refused()), 0);
        assert_eq!(judged(refused().wait(31).key("sk-Other").list(200, 59, 60)), 1);
    }
}
