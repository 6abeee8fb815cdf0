//! Store orders: the operation exists, and nothing else is known about it.

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] =
    &[Rule::of_entries("orders.exists", |entry| entry.operation == Operation::Orders && entry.is_admitted(), exists)
        .needing(Needs::CREDENTIAL)];

fn exists(&Facts { history, .. }: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    let is_lawful = entry.status().is_some_and(|status| history.expectation(entry).admits(status));
    // A service that refuses every request shows nothing about this operation: another request with the key must succeed.
    if !is_lawful || history.entries.iter().any(|other| other.succeeded() && other.key() == entry.key()) {
        judgement.require_lawful(history, entry, "an operation that exists");
    }
}
