//! Exponential backoff: over a run of refusals the client waits longer and longer.
//!
//! Jitter hides the growth from one wait to the next, so single waits prove nothing. A client is accused only of waits that lawful
//! policies hardly ever produce, whatever their base, factor, cap and jitter are:
//!
//! * [`SHORT_WAITS`] waits in a row below [`Tolerance::SHORTEST_WAIT`],
//! * waits that are nearly the same from the first refusal on: full jitter below a constant bound draws them that alike with the
//!   probability of [`Waits::is_even`], and policies whose bound grows draw them alike less often,
//! * more than [`FALLING_WAITS`] waits, none of them longer than the first.
//!
//! The table of policies in the tests says how often each is accused. If a client waits as long as `Retry-After` says, the rest of
//! the wait is its own choice, and constant for many clients.

use std::collections::HashMap;

use jiff::SignedDuration;

use super::knowing::{Key, Sender};
use super::{Clients, Memory, described, waiting};
use crate::history::Entry;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.backoff", backoff)];

/// The number of waits in a row below [`Tolerance::SHORTEST_WAIT`] that is a failure. With full jitter, a base of 50 ms and a
/// factor of 1.2, one run in a million has as many.
const SHORT_WAITS: usize = 13;

/// The largest number of waits that may all be no longer than the first. With full jitter, a factor of 1.2 and a cap at twice the
/// base, one run in a million has as many.
const FALLING_WAITS: usize = 20;

/// The least number of waits that may be too even. A floor below the waits makes four alike in documented examples.
const EVEN_WAITS: usize = 5;

/// The probability below which even waits are a failure.
const UNLIKELY: f64 = 1e-5;

/// The number of refusals in a row on one of several connections, without waits between them, and the least time that they take. No
/// number of tasks that back off sends so many requests.
const STORM: (usize, SignedDuration) = (200, SignedDuration::from_secs(2));

/// The waits of clients over the refusals of each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Backoff(HashMap<Key, Refusals>);

/// The latest refusals of a key.
#[derive(Clone, Debug, Default)]
struct Refusals {
    /// The latest exchange and what it means for the next request; none before the first.
    last: Option<(Sender, Last)>,
    /// The present run of refusals.
    run: Option<Run>,
    /// Whether the waits of an earlier run grew: then the client backs off.
    grew: bool,
    /// The number of refusals in a row after which the client waited as `Retry-After` says.
    obeyed: usize,
    storms: HashMap<u64, Storm>,
}

/// The meaning of an exchange for the next request of the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Last {
    /// A response after which a client does not send the request again.
    Final,
    /// A refusal, and the wait that its `Retry-After` asks for.
    Refused(SignedDuration),
    /// No response, or one after which the request may be sent again.
    Other,
}

/// Refusals in a row.
#[derive(Clone, Debug, Default)]
struct Run {
    waits: Waits,
    /// Whether the run is known to begin with the first refusal. Before a recording begins, or after other failures, a client may
    /// have come to its cap: then even or falling waits show nothing.
    is_whole: bool,
    senders: Vec<Sender>,
    is_accused: bool,
}

/// Refusals in a row on one connection, without waits between them.
#[derive(Clone, Copy, Debug)]
struct Storm {
    first: Sender,
    last: Sender,
    count: usize,
}

/// The judged waits of a run, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    first: f64,
    /// The shortest wait after the first.
    later: f64,
    least: f64,
    most: f64,
    count: usize,
    /// The number of latest waits in a row below [`Tolerance::SHORTEST_WAIT`].
    short: usize,
}

/// A pattern of waits that lawful policies hardly ever produce.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unlikely {
    None,
    Even,
    Falling,
}

impl Waits {
    /// Adds a wait. Returns the unlikely pattern that the waits have then, if any.
    pub(super) fn add(&mut self, wait: f64) -> Option<Unlikely> {
        let shortest = Tolerance::SHORTEST_WAIT.duration().as_secs_f64();
        if self.count == 0 {
            (self.first, self.later, self.least, self.most) = (wait, f64::INFINITY, wait, wait);
        } else {
            self.later = self.later.min(wait);
        }
        (self.least, self.most) = (self.least.min(wait), self.most.max(wait));
        self.count += 1;
        self.short = if wait < shortest { self.short + 1 } else { 0 };
        if self.short >= SHORT_WAITS {
            Some(Unlikely::None)
        } else if self.most >= shortest && self.is_even() {
            Some(Unlikely::Even)
        } else if self.first >= shortest && self.count > FALLING_WAITS && self.most <= self.first {
            Some(Unlikely::Falling)
        } else {
            None
        }
    }

    /// Returns true if the waits are more alike than any jitter makes them. Waits that are drawn evenly between a half and the
    /// whole of a bound, as equal jitter does, lie this close together with a probability below [`UNLIKELY`]. Waits that are all
    /// longer than the first grew, if only to a cap.
    fn is_even(&self) -> bool {
        if self.later > self.first * 1.05 {
            return false;
        }
        let spread = (self.most - self.least) / self.most;
        let others = i32::try_from(self.count.saturating_sub(1)).unwrap_or(i32::MAX);
        self.count >= EVEN_WAITS && (2.25 * spread).powi(others) < UNLIKELY
    }

    /// Returns true if a later wait is clearly longer than the first.
    fn grow(&self) -> bool {
        self.most > 1.5 * self.first.max(Tolerance::SHORTEST_WAIT.duration().as_secs_f64())
    }
}

fn backoff(clients: &Clients<'_>, memory: &mut Memory, judgement: &mut Judgement) {
    for (entry, sender) in clients.exchanges() {
        let Some(key) = sender.key else { continue };
        let refusals = memory.backoff.0.entry(key).or_default();
        refusals.see(clients, entry, sender, judgement);
    }
    if judgement.judged == 0 {
        let unseen = "no client received six 429 responses in a row to requests that it sent one after the other, with waits that it \
                      chose itself between them";
        judgement.unseen = Some(unseen.to_owned());
    }
}

impl Refusals {
    fn see(&mut self, clients: &Clients<'_>, entry: &Entry<'_>, sender: &Sender, judgement: &mut Judgement) {
        let is_refused = entry.status() == Some(429);
        self.see_storm(clients, entry, sender, judgement);
        let (is_first, waited) = match &self.last {
            None => (false, None),
            Some((last, _)) if !is_same_task(last, sender) => (false, None),
            Some((_, Last::Final)) => (true, None),
            Some((_, Last::Other)) => (false, None),
            Some((last, Last::Refused(dictated))) => {
                let waited = sender.sent_at.duration_since(last.received_at);
                // If the client waits as long as it is told, only a part of the wait is its own choice.
                let is_chosen = !dictated.is_positive() || waited + Tolerance::CLIENT_SLACK.duration() < *dictated;
                (false, is_chosen.then_some(waited.as_secs_f64()))
            }
        };
        let is_told = matches!(&self.last, Some((_, Last::Refused(dictated))) if dictated.is_positive());
        self.obeyed = if is_refused && is_told && waited.is_none() { self.obeyed + 1 } else { 0 };
        if self.obeyed == 2 {
            judgement.hold();
        }
        let last = last_of(entry);
        if let (Some(waited), Some(run)) = (waited.filter(|_| is_refused), &mut self.run) {
            run.senders.push(*sender);
            let unlikely = run.waits.add(waited);
            let is_conclusive = run.is_whole && !self.grew;
            let unlikely = unlikely.filter(|pattern| *pattern == Unlikely::None || is_conclusive);
            if let Some(unlikely) = unlikely.filter(|_| !run.is_accused) {
                run.is_accused = true;
                let latest: Vec<&Sender> = run.senders.iter().rev().skip(1).take(5).rev().collect();
                judgement.fail(
                    &clients.evidence(entry, &latest),
                    "waits that grow from one refusal to the next",
                    run.describe(unlikely, entry),
                );
            }
            if run.senders.len() > 2 * SHORT_WAITS {
                run.senders.drain(..SHORT_WAITS);
            }
        } else {
            if let Some(run) = self.run.take().filter(|run| run.is_whole && run.waits.grow()) {
                self.grew = true;
                if !run.is_accused {
                    judgement.hold();
                }
            }
            if is_refused {
                self.run = Some(Run { senders: vec![*sender], is_whole: is_first, ..Run::default() });
            }
        }
        self.last = Some((*sender, last));
    }

    /// Notes an exchange of a client with several connections. A connection that goes on for long without a wait is a failure.
    fn see_storm(&mut self, clients: &Clients<'_>, entry: &Entry<'_>, sender: &Sender, judgement: &mut Judgement) {
        let Some(carrier) = sender.carrier.filter(|carrier| carrier.others > 0) else { return };
        if !matches!(last_of(entry), Last::Refused(dictated) if !dictated.is_positive()) {
            self.storms.remove(&carrier.connection);
            return;
        }
        let storm = self.storms.entry(carrier.connection).or_insert(Storm { first: *sender, last: *sender, count: 0 });
        let shortest = Tolerance::SHORTEST_WAIT.duration();
        if sender.sent_at.duration_since(storm.last.received_at) >= shortest {
            *storm = Storm { first: *sender, last: *sender, count: 0 };
        }
        (storm.last, storm.count) = (*sender, storm.count + 1);
        if storm.count >= STORM.0 && sender.sent_at.duration_since(storm.first.received_at) >= STORM.1 {
            judgement.fail(
                &clients.evidence(entry, &[&storm.first]),
                "waits that grow from one refusal to the next",
                sentence!(
                    "{} refusals in a row on one connection, without a wait, the last to {}",
                    storm.count,
                    described(entry)
                ),
            );
            self.storms.remove(&carrier.connection);
        }
    }
}

/// Returns true if the sender of a request is the task that received the latest response: no other connection was open, or the
/// connection is the same and no other task had been waiting for it.
fn is_same_task(last: &Sender, sender: &Sender) -> bool {
    let waited = last.until(sender);
    let is_alone = last.is_alone() && sender.is_alone();
    let is_unhurried = last.shares_connection(sender) && waited >= Tolerance::HANDOVER.duration();
    !waited.is_negative() && (is_alone || is_unhurried)
}

fn last_of(entry: &Entry<'_>) -> Last {
    match entry.status() {
        // The wait that the refusal dictates is unknown.
        Some(429) if entry.exchange.known.withheld.contains(Fact::ResponseHeaders) => Last::Other,
        Some(429) => {
            let dictated = waiting::until(entry).map(|until| until.duration_since(entry.exchange.received_at));
            Last::Refused(dictated.unwrap_or(SignedDuration::ZERO))
        }
        Some(200..=407 | 409..=428 | 430..=499) => Last::Final,
        _ => Last::Other,
    }
}

impl Run {
    fn describe(&self, unlikely: Unlikely, entry: &Entry<'_>) -> Sentence {
        let Waits { first, least, most, count, .. } = self.waits;
        let refusals = count + 1;
        let waits = match unlikely {
            Unlikely::None => sentence!("the last {} without a wait", SHORT_WAITS),
            Unlikely::Even => {
                sentence!("with waits of {} to {} s between them", format!("{least:.2}"), format!("{most:.2}"))
            }
            Unlikely::Falling => sentence!("with no wait longer than the first of {} s", format!("{first:.2}")),
        };
        sentence!("{} refusals in a row, {}, the last to {}", refusals, waits, described(entry))
    }
}

#[cfg(test)]
mod tests;
