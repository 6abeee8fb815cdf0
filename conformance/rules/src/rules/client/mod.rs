//! Rules about clients, one file for each subject.
//!
//! A client is judged by the requests that it sends, given the responses that it knew by then ([`knowing`]). This knowledge lasts
//! longer than one part of a recording, so every rule keeps a [`Memory`] from one part to the next. Rules take the exchanges one
//! after the other: their time grows with the number of exchanges.

mod backoff;
mod credential;
mod identifiers;
mod knowing;
mod refused_requests;
mod waiting;

use std::collections::HashMap;

use super::Rule;
use crate::history::{Entry, History};
use crate::sentence::{Sentence, sentence};
use crate::trace::exchange::Exchange;
use crate::trace::knowledge::Extent;
use knowing::{Key, Keys, Sender};

/// The rules about clients.
pub(crate) fn rules() -> Vec<Rule> {
    [waiting::RULES, backoff::RULES, credential::RULES, refused_requests::RULES, identifiers::RULES].concat()
}

/// The knowledge of clients, and the state of the rules about them, from earlier parts of a recording.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    keys: Keys,
    /// The refusals that ask to wait until a date, and those that ask to wait for a number of seconds.
    waiting_until: HashMap<Key, waiting::Gates>,
    waiting_for: HashMap<Key, waiting::Gates>,
    backoff: HashMap<Key, backoff::Refusals>,
    bad_bodies: HashMap<Option<Key>, refused_requests::Session>,
    bad_queries: HashMap<Option<Key>, refused_requests::Session>,
    /// The identifiers that responses showed.
    identifiers: HashMap<Option<Key>, identifiers::Shown>,
}

/// A part of a recording, with the sender of each request.
pub(crate) struct Clients<'h> {
    history: &'h History<'h>,
    /// The sender of each entry, in order.
    senders: Vec<Sender>,
    /// The number of the part in its recording, from 1.
    part: u64,
}

impl Memory {
    /// Makes a part of a recording ready for judging clients.
    pub(super) fn clients<'h>(&mut self, history: &'h History<'h>) -> Clients<'h> {
        let senders = self.keys.senders(&history.entries);
        Clients { history, senders, part: self.keys.part }
    }
}

impl<'h> Clients<'h> {
    /// Every exchange with its sender, in the order of sending.
    fn exchanges(&self) -> impl Iterator<Item = (&'h Entry<'h>, &Sender)> {
        self.history.entries.iter().zip(&self.senders)
    }

    /// The exchanges that show a failure, the decisive one first. Exchanges of earlier parts of the recording are left out.
    fn evidence(&self, decisive: &'h Entry<'h>, others: &[&Sender]) -> Vec<&'h Entry<'h>> {
        let of_part = others.iter().filter(|sender| sender.place.0 == self.part);
        std::iter::once(decisive).chain(of_part.map(|sender| &self.history.entries[sender.place.1 - 1])).collect()
    }

    /// Returns true if the recording shows the times at which a client did not send: it has all requests of its clients, or a
    /// recorder saw their connections.
    fn shows_pauses(&self) -> bool {
        let Clients { history, .. } = self;
        history.context.extent >= Extent::Conversation
            || history.entries.iter().any(|entry| entry.exchange.known.carrier.is_some())
    }
}

/// A request in words, with what distinguishes it from others: `GET /pets at 12:00:01.250 on connection 3 by "curl/8.5.0"`.
fn described(entry: &Entry<'_>) -> Sentence {
    let Exchange { request, sent_at, known, .. } = entry.exchange;
    let on = known.carrier.map_or("".into(), |carrier| sentence!(" on connection {}", carrier.connection));
    let by = request.further("user-agent").next().map_or("".into(), |agent| sentence!(" by {}", format!("{agent:?}")));
    sentence!("{} at {}{}{}", entry.operation.name(), sent_at.strftime("%H:%M:%S%.3f").to_string(), on, by)
}

#[cfg(test)]
mod tests;
