//! What rules judge by, built once per trace.

use crate::history::History;

/// The facts of one trace.
#[derive(Debug)]
pub struct Facts<'h> {
    /// Every exchange with its meaning, and what the exchanges together show.
    pub history: &'h History<'h>,
}

impl<'h> Facts<'h> {
    /// The facts of a history.
    #[must_use]
    pub fn new(history: &'h History<'h>) -> Facts<'h> {
        Facts { history }
    }
}
