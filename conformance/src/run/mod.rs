//! A run from its options to its report.

mod broken;
pub(crate) mod forecast;
pub(crate) mod judge;
mod notes;
