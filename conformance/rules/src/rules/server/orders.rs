//! Store orders: the operation exists, and nothing else is known about it.

use crate::facts::Facts;
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[Rule::new("orders.exists", exists)];

fn exists(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in history.entries.iter().filter(|entry| entry.operation == Operation::Orders && entry.key().is_some()) {
        match entry.status() {
            None | Some(429) => {}
            Some(status) => {
                judgement.require(entry, status != 404 && status != 405, "neither 404 nor 405", || answered(entry));
            }
        }
    }
}
