//! The report: one value that every renderer reads, and the renderers, one file each.
//!
//! The value holds no secret and no byte that a terminal could act on: both are taken out where it is put together, once, so
//! that no renderer can forget to. Renderers compute no verdict.

pub mod ctrf;
pub mod formats;
pub mod github;
pub mod har;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;

mod assemble;
mod curl;
mod model;
mod presentation;
mod printable;
mod rerun_command;
mod summary;

pub(crate) mod shell;

pub use assemble::{Remarks, assemble};
pub use model::{
    Choice, Evidence, KeyAlias, RecordedBody, RecordedExchange, RecordedResponse, Report, ReportedExchange,
    ReportedRequest, ReportedResponse, RequirementReport, SCHEMA_VERSION, SectionCoverage, Tally, Target, Tool,
    WindowPoint,
};
pub(crate) use presentation::Presentation;
pub(crate) use printable::printable;
