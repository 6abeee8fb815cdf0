//! A run from its options to its report.

pub(crate) mod judge;
mod notes;
