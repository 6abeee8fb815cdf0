//! The report of a run or of recorded traffic, as data and as text.
//!
//! [`Report`] contains no secrets and no terminal control characters: both are removed once, where it is assembled, so that no renderer
//! can forget to. It implements `Serialize`, which gives the JSON report, and `Display`, which gives the text.

pub mod text;

mod assemble;
pub(crate) mod commands;
pub(crate) mod counting;
mod evidence;
mod fleet;
mod model;
mod outline;
mod presentation;
mod traffic;

pub(crate) use assemble::{Remarks, assemble};
pub use commands::shell_command;
pub use counting::{Counting, Unexplained};
pub use evidence::LimitsShown;
pub use model::{
    CatalogueVersion, Choice, Evidence, GivenOption, Implementation, KeyAlias, Replica, Report, ReportedBody,
    ReportedExchange, ReportedRequest, ReportedResponse, RequirementReport, SCHEMA_VERSION, Selection, Since, TOOL,
    Target, WindowPoint, writer,
};
pub use outline::{Outcome, PARTLY_SEEN, Section, Tally};
pub(crate) use presentation::Presentation;
pub use presentation::shown;
pub(crate) use traffic::TrafficCounts;
pub use traffic::{Answerers, Intermediary};
