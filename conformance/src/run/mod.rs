//! A run from its options to its report.

mod broken;
pub mod judge;

mod notes;
