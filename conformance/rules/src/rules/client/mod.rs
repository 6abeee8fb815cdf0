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

use super::Rule;
use crate::history::{Entry, History};
use crate::sentence::{Sentence, sentence};
use crate::trace::exchange::Exchange;
use crate::trace::knowledge::Extent;
use knowing::{Keys, Sender};

/// The rules about clients.
pub(crate) fn rules() -> Vec<Rule> {
    [waiting::RULES, backoff::RULES, credential::RULES, refused_requests::RULES, identifiers::RULES].concat()
}

/// The knowledge of clients, and the state of the rules about them, from earlier parts of a recording.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    keys: Keys,
    waiting: waiting::Waiting,
    backoff: backoff::Backoff,
    refused: refused_requests::Refused,
    identifiers: identifiers::Identifiers,
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
        std::iter::once(decisive).chain(others.iter().filter_map(|sender| self.entry_of(sender))).collect()
    }

    /// The exchange of a sender, if this part of the recording has it.
    fn entry_of(&self, sender: &Sender) -> Option<&'h Entry<'h>> {
        let (part, number) = sender.place;
        self.history.entries.get(number.checked_sub(1)?).filter(|_| part == self.part)
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
    let agent = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
    let by = agent.map_or("".into(), |(_, agent)| sentence!(" by {}", format!("{agent:?}")));
    sentence!("{} at {}{}{}", entry.operation.name(), sent_at.strftime("%H:%M:%S%.3f").to_string(), on, by)
}

#[cfg(test)]
mod tests;
