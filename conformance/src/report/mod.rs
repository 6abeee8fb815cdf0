//! The report of a run or of recorded traffic, as data and as text.
//!
//! [`Report`] contains no secrets and no terminal control characters: both are removed once, where it is assembled, so that no renderer
//! can forget to. It implements `Serialize`, which gives the JSON report, and `Display`, which gives the text.

pub mod text;

mod assemble;
pub(crate) mod counting;
mod curl;
mod evidence;
mod fleet;
mod model;
mod outcome;
mod outline;
mod presentation;
pub(crate) mod rerun_command;
mod shell;
mod traffic;

pub(crate) use assemble::{Remarks, assemble};
pub use counting::{Counting, Unexplained};
pub use evidence::LimitsShown;
pub use model::{
    CatalogueVersion, Choice, Evidence, GivenOption, Implementation, KeyAlias, Replica, Report, ReportedBody,
    ReportedExchange, ReportedRequest, ReportedResponse, RequirementReport, SCHEMA_VERSION, Selection, Since, TOOL,
    Target, Tool, WindowPoint,
};
pub use outcome::Outcome;
pub use outline::{PARTLY_SEEN, Section, Tally};
pub(crate) use presentation::Presentation;
pub use presentation::shown;
pub use shell::shell_command;
pub(crate) use traffic::TrafficCounts;
pub use traffic::{Answerers, Intermediary};
