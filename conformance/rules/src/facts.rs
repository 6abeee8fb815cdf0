//! The facts that rules judge by, derived once per trace.

use crate::history::History;
use crate::limits::Limiter;

/// The facts of one trace.
#[derive(Debug)]
pub struct Facts<'h> {
    /// Every exchange with the classification of its request, and what the exchanges together show.
    pub history: &'h History<'h>,
    /// The limits of each key, as the rate-limit header fields show them.
    pub limiter: Limiter<'h>,
}

impl<'h> Facts<'h> {
    /// The facts of a history.
    pub fn new(history: &'h History<'h>) -> Facts<'h> {
        Facts { history, limiter: Limiter::new(history) }
    }
}
