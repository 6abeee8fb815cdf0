//! A run from its options to its report.

pub mod judge;

mod notes;
