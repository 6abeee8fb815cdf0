//! Store orders: the operation exists, and nothing else is known about it.

use crate::facts::Facts;
use crate::request::Operation;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[Rule::new("orders.exists", exists).needing(Needs::CREDENTIAL)];

fn exists(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let orders = history.entries.iter().filter(|entry| entry.operation == Operation::Orders);
    for entry in orders.filter(|entry| entry.is_admitted()) {
        judgement.require_lawful(history, entry, "an operation that exists");
    }
}
