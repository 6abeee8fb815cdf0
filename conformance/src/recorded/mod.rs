//! Recorded traffic: written by a run, and judged without sending anything.
//!
//! [`judge`] reads traces and HTTP Archives from files, and [`RecordedJudge`] judges traffic while it is being recorded.

mod judge;
mod options;
mod parts;
mod pseudonyms;
mod record;
mod recorded_judge;
mod source;
mod terms;
mod totals;
mod unusable;

pub use judge::judge;
pub use parts::{LONGEST_PART, PART_EXCHANGES, PendingPart};
pub use record::{record, writer};
pub use recorded_judge::RecordedJudge;
pub use terms::Terms;
pub use unusable::UnusableRecording;
