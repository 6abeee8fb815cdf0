//! Recorded traffic: written by a run, and judged without sending anything.
//!
//! [`judge`] reads traces and HTTP Archives from files, and [`RecordedJudge`] judges traffic while it is being recorded.

mod judge;
mod parts;
mod pseudonyms;
mod record;
mod recorded_judge;
mod source;
mod terms;
mod totals;

pub use crate::report::writer;
pub use judge::judge;
pub use parts::{LONGEST_PART, PART_EXCHANGES, PendingPart};
pub use record::record;
pub use recorded_judge::RecordedJudge;
pub use terms::Terms;

use crate::http::errors::of_file;
use animal_store_traffic::Unreadable;

/// The reason why recorded traffic cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableRecording {
    /// A file cannot be opened.
    #[error("{0}: {problem}\n  Name a file that exists and can be read, or `-` for standard input.", problem = of_file(.1))]
    File(String, std::io::Error),
    /// A file cannot be read.
    #[error("{0}: {1}\n  Nothing was judged.")]
    Unreadable(String, Unreadable),
    /// A ZIP archive cannot be read.
    #[error("{0}: {1}\n  Unzip it, and judge the HTTP Archive in its folder. Nothing was judged.")]
    Zip(String, String),
    /// The options of a recorded run cannot be read.
    #[error("{0}: the options of the recorded run cannot be read: {1}\n  Nothing was judged.")]
    Options(String, String),
    /// No requirement of the judged side is selected.
    #[error("no requirement of the side `{0}` is selected by --only and --skip\n  Choose another side with --side.")]
    NothingSelected(&'static str),
    /// The recordings are of several services.
    #[error("the recordings are of {0} and of {1}\n  Judge each of the two by itself.")]
    Services(String, String),
    /// There is nothing to judge.
    #[error("{0}: no request to an Animal Store was recorded{1}")]
    Nothing(String, String),
}

impl From<Unreadable> for UnusableRecording {
    fn from(error: Unreadable) -> UnusableRecording {
        // The name is added where it is known.
        UnusableRecording::Unreadable(String::new(), error)
    }
}
