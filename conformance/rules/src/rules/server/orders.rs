//! Store orders: the operation exists, and nothing else is known about it.

use crate::history::Docket;
use crate::request::Operation;
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[Rule { id: "orders.exists", judge: exists }];

fn exists(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in docket.cases.iter().filter(|case| case.operation == Operation::Orders && case.key().is_some()) {
        match case.status() {
            None | Some(429) => {}
            Some(status) => {
                judgement.require(case, status != 404 && status != 405, "neither 404 nor 405", || answered(case));
            }
        }
    }
}
