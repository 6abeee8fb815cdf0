//! Recorded traffic: written by a run, and judged without sending anything.

mod conclusion;
mod judge;
mod options;
mod parts;
mod pseudonyms;
mod record;
mod totals;
mod verify;

#[cfg(feature = "cli")]
pub(crate) use conclusion::Conclusion;
#[cfg(feature = "cli")]
pub(crate) use judge::rerun_command;
pub use judge::{Terms, Unusable, judge};
#[cfg(feature = "cli")]
pub(crate) use parts::{LONGEST_PART, PART, PART_EXCHANGES, pseudonyms, weight};
pub(crate) use record::head;
pub use record::record;
pub use verify::{Unverifiable, Verification, verify};
