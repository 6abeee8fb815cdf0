//! `GET /pets/{petId}` after its removal.

use std::collections::HashMap;

use super::knowing::{Key, Sender};
use super::{Clients, Memory, described};
use crate::history::Era;
use crate::request::Operation;
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.removed-operation", removed_operation)];

/// The first 410 that each key got for the removed operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Removed(HashMap<Option<Key>, Sender>);

fn removed_operation(clients: &Clients<'_>, memory: &mut Memory, judgement: &mut Judgement) {
    let Removed(gone) = &mut memory.deprecation;
    for (entry, sender) in clients.exchanges() {
        let Operation::Get(_) = entry.operation else { continue };
        match gone.get(&sender.key) {
            Some(first) if first.is_known_to(sender) => judgement.fail(
                &clients.evidence(entry, &[first]),
                "no GET /pets/{petId} after a 410 on or after 5 December 2030",
                sentence!("{} called the operation again", described(entry)),
            ),
            _ => {
                // Before the day of removal, a 410 is about the requested animal.
                let is_dated = !entry.exchange.known.withheld.contains(Fact::ResponseHeaders);
                if entry.status() == Some(410) && is_dated && clients.history.era(entry) != Era::Before {
                    gone.entry(sender.key).or_insert(*sender);
                    judgement.hold();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    fn called_again(date: &str, status: u16) -> Vec<&'static str> {
        let gone = TraceBuilder::at(date).fetch(7, status, String::new());
        gone.wait(60).fetch(8, status, String::new()).client_broken()
    }

    #[test]
    fn the_operation_is_left_alone_once_it_is_gone() {
        assert_eq!(called_again("2031-01-01T00:00:00Z", 410), ["client.removed-operation"]);
        assert_eq!(called_again("2026-06-01T00:00:00Z", 410), [""; 0], "until then 410 is about an animal");
        assert_eq!(called_again("2031-01-01T00:00:00Z", 404), [""; 0], "404 does not say that the operation is gone");
    }
}
