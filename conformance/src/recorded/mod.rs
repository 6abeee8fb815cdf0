//! Recorded traffic: written by a run, and judged without sending anything.

mod judge;
mod options;
mod pseudonyms;
mod record;
mod totals;
mod verify;

pub use judge::{Terms, Unusable, judge};
pub(crate) use record::head;
pub use record::record;
pub use verify::{Unverifiable, Verification, verify};
