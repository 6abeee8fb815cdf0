//! Hammering: a client that goes on after refusals without a wait, or again and again before the time that they name.
//!
//! The waits that a client chooses itself prove nothing: jitter hides their growth, several tasks share a key, and every lawful server
//! dictates the wait anyway. So they are only observed. A counter finds the clients that risk a ban: requests that a client had already
//! handed to a connection do not count, whatever follows does.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::knowing::{MOST_QUEUED, Sender};
use super::{Clients, Memory, described, waiting};
use crate::history::Entry;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.backoff", backoff)];

/// The number of refusals in a row without a pause of [`Tolerance::SHORTEST_WAIT`] that is a failure.
const WITHOUT_PAUSE: usize = 13;

/// The number of refusals within [`Tolerance::MINUTE`] that is a failure, if each request disregarded an earlier refusal.
const WITHIN_MINUTE: usize = 20;

/// The number of waits that an observation shows.
const SHOWN_WAITS: usize = 6;

/// The latest refusals of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    /// The first and the last refusal in a row.
    run: Option<(Sender, Sender)>,
    /// The number of refusals in a row.
    in_row: usize,
    /// The number of refusals in a row without a pause, of requests that the client sent although it knew the first one.
    unpaused: usize,
    /// The first refusal since the latest pause, and the number of refusals after it.
    since: Option<(Sender, u64)>,
    /// Whether each of them was requested after the one before.
    is_sequence: bool,
    /// The time until which the latest refusal asks to wait.
    asked: Option<Timestamp>,
    /// The refusals of the last minute whose requests disregarded an earlier refusal.
    disregarding: VecDeque<Sender>,
    /// Whether a request disregarded a refusal.
    is_hasty: bool,
    /// The number of exchanges with the key that were admitted.
    admitted: usize,
    /// The latest waits on one connection between refusals, in seconds.
    waits: VecDeque<f64>,
    is_accused: bool,
}

fn backoff(clients: &Clients<'_>, memory: &mut Memory, judgement: &mut Judgement) {
    let mut observed = None;
    for (entry, sender) in clients.exchanges() {
        let Some(key) = sender.key else { continue };
        let refusals = memory.backoff.entry(key).or_default();
        if let Some(found) = refusals.see(entry, sender) {
            let first = refusals.run.map_or(*sender, |(first, _)| first);
            judgement.fail(
                &clients.evidence(entry, &[&first]),
                "a wait after each refusal, which grows from one refusal to the next",
                sentence!("{}, the last to {}", found, described(entry)),
            );
        } else if refusals.in_row == 2 && entry.status() == Some(429) {
            judgement.hold();
        }
        observed = refusals.shown_waits().or(observed);
    }
    judgement.unseen = match observed {
        Some(waits) => Some(format!("the waits between refusals are observed and not judged: {waits}")),
        None if judgement.judged == 0 => Some("no client received two 429 responses in a row".to_owned()),
        None => None,
    };
}

impl Refusals {
    /// Notes an exchange. Returns the failure that it completes, in words.
    fn see(&mut self, entry: &Entry<'_>, sender: &Sender) -> Option<Sentence> {
        let is_withheld = entry.exchange.known.withheld.contains(Fact::ResponseHeaders);
        let is_banned = self.in_row > 0 && self.admitted > 0 && entry.status() == Some(403);
        match entry.status() {
            Some(429) => {}
            _ if is_banned => {}
            None | Some(408 | 500..) => return None,
            Some(_) => {
                *self = Refusals { admitted: self.admitted + 1, is_accused: self.is_accused, ..Refusals::default() };
                return None;
            }
        }
        let (first, last) = self.run.unwrap_or((*sender, *sender));
        let is_first = self.in_row == 0;
        self.in_row += 1;
        let passed = sender.sent_at.duration_since(last.received_at);
        if is_first || passed >= Tolerance::SHORTEST_WAIT.duration() {
            (self.since, self.unpaused, self.is_sequence) = (Some((*sender, 0)), 0, true);
        } else if let Some((since, further)) = &mut self.since {
            *further += 1;
            self.is_sequence &= !passed.is_negative();
            // A queue may open a connection for each of its requests.
            let is_beyond_queue = *further > MOST_QUEUED && self.is_sequence;
            self.unpaused += usize::from(is_beyond_queue || since.is_disregarded_by(sender));
        }
        if !is_first && last.shares_connection(sender) && !passed.is_negative() {
            self.waits.push_back(passed.as_secs_f64());
            self.waits.drain(..self.waits.len().saturating_sub(SHOWN_WAITS));
        }
        // A client that waits as long as it is told may be refused again.
        let is_early = self.asked.is_none_or(|until| {
            until.duration_since(sender.sent_at) > Tolerance::CLIENT_SLACK.duration() || until <= last.received_at
        });
        let is_one_task = self.asked.is_some_and(|until| until > last.received_at)
            || last.is_sole_beside(sender) && last.shares_connection(sender);
        if !is_first && !is_withheld && is_early && is_one_task && last.is_disregarded_by(sender) {
            self.is_hasty = true;
            self.disregarding.push_back(*sender);
            let minute = Tolerance::MINUTE.duration();
            while self.disregarding.front().is_some_and(|early| sender.sent_at.duration_since(early.sent_at) > minute) {
                self.disregarding.pop_front();
            }
        }
        let latest = if last.received_at > sender.received_at { last } else { *sender };
        self.run = Some((first, latest));
        self.asked = waiting::waits_until(entry).or(self.asked.filter(|_| is_banned));
        let found = if is_banned && self.is_hasty {
            sentence!("the key was banned after {} refusals in a row", self.in_row - 1)
        } else if self.unpaused >= WITHOUT_PAUSE {
            sentence!("{} refusals in a row, the last {} without a wait", self.in_row, self.unpaused)
        } else if self.disregarding.len() >= WITHIN_MINUTE {
            sentence!("{} refusals within a minute, each after one that the client knew", self.disregarding.len())
        } else {
            return None;
        };
        (!std::mem::replace(&mut self.is_accused, true)).then_some(found)
    }

    /// The latest waits in words, if there are several.
    fn shown_waits(&self) -> Option<String> {
        let waits: Vec<String> = self.waits.iter().map(|wait| format!("{wait:.2} s")).collect();
        (waits.len() > 1).then(|| waits.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Exchange;
    use crate::trace::knowledge::Carrier;

    /// A client that is refused so many times, with this pause before each further request. It has one connection, or several in turn.
    fn refused(times: usize, pause: i64, retry_after: &str, connections: u64) -> TraceBuilder {
        (0..times).fold(TraceBuilder::new().list(200, 1, 60), |builder, at| {
            let connection = 1 + at as u64 % connections;
            let on = move |exchange: &mut Exchange| {
                exchange.known.carrier = Some(Carrier { connection, others: u32::from(connections > 1) });
            };
            let builder = if at == 0 { builder } else { builder.wait_millis(pause) };
            let builder = builder.list(429, 0, 60).change_last(on);
            if retry_after.is_empty() { builder } else { builder.retry_after(retry_after) }
        })
    }

    fn hammers(builder: TraceBuilder) -> bool {
        builder.client_broken().contains(&"client.backoff")
    }

    #[test]
    fn a_client_that_goes_on_without_a_wait_hammers_whatever_retry_after_says() {
        for retry_after in ["", "30", "soon"] {
            assert!(hammers(refused(60, 1, retry_after, 1)), "{retry_after}");
            assert!(hammers(refused(60, 30, retry_after, 4)), "{retry_after}, four connections");
            assert!(!hammers(refused(40, 1, retry_after, 1)), "{retry_after}, a queue");
        }
    }

    #[test]
    fn twenty_refusals_within_a_minute_that_the_client_knew_are_hammering() {
        assert!(hammers(refused(22, 2_000, "60", 1)));
        assert!(hammers(refused(22, 2_000, "60", 4)));
        assert!(hammers(refused(22, 2_000, "", 1)), "without Retry-After, on the only connection");
        assert!(!hammers(refused(22, 2_000, "", 4)), "several tasks may each back off");
        assert!(!hammers(refused(22, 4_000, "60", 1)), "over more than a minute");
        assert!(!hammers(refused(22, 2_001, "2", 1)), "it waits as it is told");
    }

    #[test]
    fn waits_of_any_kind_are_an_observation() {
        let same = refused(8, 1_000, "", 1);
        assert!(!hammers(same));
    }

    #[test]
    fn a_client_that_was_banned_after_it_disregarded_refusals_is_accused_of_that() {
        let banned = |builder: TraceBuilder| hammers(builder.wait(2).list(403, 0, 60));
        assert!(banned(refused(3, 2_000, "60", 1)));
        assert!(!banned(refused(3, 2_001, "2", 1)), "it waited each time");
        assert!(!banned(TraceBuilder::new().list(200, 1, 60)), "403 for another reason");
    }
}
