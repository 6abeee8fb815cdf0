//! The report: one value that every renderer reads, and the renderers, one file each.
//!
//! The value contains no secrets and no terminal control characters: both are removed once, where it is assembled, so that no
//! renderer can forget to. Renderers compute no verdict.

// Renderers are public for the command line and for tests.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod badge;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod ctrf;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod formats;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod github;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod har;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod html;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod in_toto;
#[doc(hidden)]
pub mod json;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod junit;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod markdown;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod sarif;
#[doc(hidden)]
pub mod text;

mod answerers;
mod assemble;
mod confidence;
pub(crate) mod counting;
mod counts;
mod curl;
mod findings;
mod fleet;
mod identity;
mod key_alias;
mod limits;
mod model;
mod order;
mod presentation;
mod recorded_exchange;
mod replica;
mod rerun_command;
#[cfg(feature = "cli")]
mod summary;

pub(crate) mod shell;

pub use answerers::{Answerers, Intermediary};
pub(crate) use assemble::{Recording, Remarks, assemble, assemble_recorded};
pub use confidence::Confidence;
pub use counting::{Counting, Unexplained};
pub use identity::{CatalogueVersion, Digest, Implementation, UnusableDigest};
#[cfg(feature = "cli")]
pub(crate) use identity::{SPECIFICATION_FILE, specification_page};
pub use key_alias::KeyAlias;
pub use model::{
    Choice, Evidence, GivenOption, Intermittent, LikelyCause, Report, ReportedExchange, ReportedRequest,
    ReportedResponse, RequirementReport, SCHEMA_VERSION, SectionCoverage, Selection, Since, Tally, Target, Tool,
    WindowPoint,
};
pub use presentation::curl_lines;
pub(crate) use presentation::without_its_value;
pub use recorded_exchange::{RecordedBody, RecordedExchange, RecordedResponse};
pub use replica::{Attribution, ReadsElsewhere, Replica};
#[cfg(feature = "cli")]
pub(crate) use {findings::at_most, presentation::Presentation};
