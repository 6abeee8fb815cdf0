//! What the specification demands of clients: a file for each subject.
//!
//! A client is judged by the requests that it sends, given the responses that it had received by then. A request that was under way
//! when a response arrived was sent without knowing it. A rule about what a client did not receive, or did not wait for, needs
//! everything that the client sent and received; one about what it sent twice does not.

mod backoff;
mod credential;
mod deprecation;
mod identifiers;
mod refused_requests;
mod waiting;

use super::Rule;
use crate::history::{Entry, History};
use crate::request::{self, Credential};

/// The rules of this side.
pub(crate) fn rules() -> Vec<Rule> {
    let rules = [
        waiting::RULES,
        backoff::RULES,
        credential::RULES,
        refused_requests::RULES,
        identifiers::RULES,
        deprecation::RULES,
    ];
    rules.concat().into_iter().map(Rule::about_clients).collect()
}

/// The requests of one key, in the order of sending. A key that may be banned is still the key that the client sends.
fn of_key<'h, 't>(history: &'h History<'t>, key: usize) -> Vec<&'h Entry<'t>> {
    let sent_with = |entry: &&Entry<'_>| {
        entry.key() == Some(key)
            || request::credential(&entry.exchange.request, history.context) == Credential::Valid(key)
    };
    history.entries.iter().filter(sent_with).collect()
}

#[cfg(test)]
mod tests;
