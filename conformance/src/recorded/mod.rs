//! Recorded traffic: written by a run, and judged without sending anything.

mod conclusion;
mod judge;
mod options;
mod parts;
mod pseudonyms;
mod record;
mod source;
mod terms;
mod totals;
mod unusable;
mod utf16;
mod verify;

#[cfg(feature = "cli")]
pub(crate) use conclusion::Conclusion;
pub use judge::judge;
#[cfg(feature = "cli")]
pub(crate) use parts::{LONGEST_PART, PART, PART_EXCHANGES, weight};
pub(crate) use record::head;
pub use record::record;
pub use terms::Terms;
pub use unusable::Unusable;
pub use verify::{Unverifiable, Verification, verify};
