//! The log of a session: its trace, and the events that tell a listener what happens.

use crate::events::{Answer, Event, Listener};
use crate::redaction::Redactor;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome};
use animal_store_rules::trace::knowledge::{Fact, Knowledge};

use super::wire::Completed;

/// The trace of a session, its listener, and the labels of the requests that come next.
pub(super) struct Log<'r> {
    listener: &'r Listener,
    redactor: Redactor,
    pub(super) trace: Trace,
    pub(super) probe: &'static str,
    pub(super) step: String,
}

impl<'r> Log<'r> {
    pub(super) fn new(listener: &'r Listener, redactor: Redactor, trace: Trace) -> Log<'r> {
        Log { listener, redactor, trace, probe: "preflight", step: String::new() }
    }

    /// Passes an event to the listener.
    pub(super) fn tell(&self, event: &Event) {
        (self.listener)(event);
    }

    /// Records an exchange, and tells the listener of it, with the number of requests that are left.
    pub(super) fn record(&mut self, sent: Completed, left: usize) -> &Exchange {
        let Completed { request, outcome, sent_at, received_at } = sent;
        let number = self.trace.exchanges.len() + 1;
        let (answer, is_readable) = match &outcome {
            Outcome::Response(response) => {
                let is_readable = response.unreadable_coding().is_none() && !response.is_too_long();
                (Answer::Status(response.status), is_readable)
            }
            Outcome::Failed(failure) => {
                let message = self.redactor.redact(&failure.detail);
                (Answer::Failed { kind: failure.kind, message }, true)
            }
        };
        let has_several = self.trace.context.addresses().count() > 1;
        let address = if has_several { self.trace.context.address_of(&request) } else { "" };
        let own = self.redactor.for_prose().redact(&format!("{address}{}", request.path));
        let query = request.query.iter().map(|query| format!("?{}", self.redactor.redact(query)));
        let target = std::iter::once(own).chain(query).collect();
        self.tell(&Event::Exchange { number, method: request.method.clone(), target, answer, left });
        let mut known = Knowledge::default();
        if !is_readable {
            known.withheld.insert(Fact::ResponseBody);
        }
        let (probe, step) = (self.probe.into(), self.step.clone());
        let exchange = Exchange { number, probe, step, request, outcome, sent_at, received_at, known };
        self.trace.exchanges.push(exchange);
        &self.trace.exchanges[number - 1]
    }
}
