//! The report: one value that every renderer reads, and the renderers, one file each.
//!
//! The value contains no secrets and no terminal control characters: both are removed once, where it is assembled, so that no
//! renderer can forget to. Renderers compute no verdict.

// Renderers are public for the command line and for tests.
#[doc(hidden)]
pub mod ctrf;
#[doc(hidden)]
pub mod formats;
#[doc(hidden)]
pub mod github;
#[doc(hidden)]
pub mod har;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod junit;
#[doc(hidden)]
pub mod markdown;
#[doc(hidden)]
pub mod sarif;
#[doc(hidden)]
pub mod text;

mod assemble;
mod curl;
mod model;
mod presentation;
mod printable;
mod rerun_command;
mod summary;

pub(crate) mod shell;

pub(crate) use assemble::{Remarks, assemble};
pub use model::{
    Choice, Evidence, KeyAlias, RecordedBody, RecordedExchange, RecordedResponse, Report, ReportedExchange,
    ReportedRequest, ReportedResponse, RequirementReport, SCHEMA_VERSION, SectionCoverage, Tally, Target, Tool,
    WindowPoint,
};
pub(crate) use presentation::Presentation;
pub(crate) use printable::printable;
