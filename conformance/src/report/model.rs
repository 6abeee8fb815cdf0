//! The shape of a report. Its version changes when a member changes its meaning or goes; members may be added.

use serde::Serialize;

use crate::catalogue::Level;
use crate::options::Profile;
use crate::verdict::{Status, Verdict};

/// The version of the report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that there is to tell about a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What made the report.
    pub tool: Tool,
    /// The verdict on the run.
    pub verdict: Verdict,
    /// What was judged.
    pub target: Target,
    /// The seed of everything random.
    pub seed: u64,
    /// The profile.
    pub profile: Profile,
    /// Whether a broken inferred requirement is a violation.
    pub strict: bool,
    /// When the first request was sent, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// How many requests were sent.
    pub requests: usize,
    /// How many animals were created.
    pub created: usize,
    /// From the first request to the last answer, in milliseconds.
    pub duration_ms: u64,
    /// Why the run ended before its plan did, if it did.
    pub ended_early: Option<String>,
    /// What the reader should know about how the run was asked for.
    pub notes: Vec<String>,
    /// How the tour's transcript differs from that of every lawful server, as a unified diff, if it does.
    pub transcript_diff: Option<String>,
    /// Every requirement, in the order of the specification.
    pub requirements: Vec<RequirementReport>,
    /// What the candidate chose where the specification leaves a choice: every selected open requirement, in order.
    pub gap_profile: Vec<Choice>,
}

/// What made the report.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// What was judged.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// The base URL.
    pub base_url: String,
    /// The plan of the key, if it was told.
    pub plan: Option<String>,
}

/// One requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementReport {
    /// Its identifier.
    pub id: String,
    /// Its level.
    pub level: Level,
    /// The section of the specification that it rests on.
    pub section: String,
    /// The requirement in a line.
    pub title: String,
    /// Whether the run was asked for it.
    pub selected: bool,
    /// Whether it makes the candidate violate.
    pub violation: bool,
    /// What was found.
    pub status: Status,
    /// How many times it was judged.
    pub judged: usize,
    /// How many times it was broken.
    pub failures: usize,
    /// Why it was not exercised, is known to fail, or is no longer known to fail.
    pub reason: Option<String>,
    /// What the candidate chose, for an open requirement.
    pub observed: Option<String>,
    /// The first places where it was broken.
    pub evidence: Vec<Evidence>,
}

/// What a candidate chose where the specification leaves a choice.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The identifier of the open requirement.
    pub id: String,
    /// The open question in a line.
    pub title: String,
    /// The choice, as far as this run shows it.
    pub observed: Option<String>,
}

/// One place where a requirement was broken.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// Both of the following in a sentence.
    pub sentence: String,
    /// What had to be.
    pub expected: String,
    /// What was.
    pub found: String,
    /// The exchanges that show it, the decisive one first.
    pub exchanges: Vec<ReportedExchange>,
}

/// An exchange, keys taken out.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedExchange {
    /// Its number in the run, from 1.
    pub number: usize,
    /// When it was sent, RFC 3339 in UTC.
    pub sent_at: String,
    /// The options that send it again in a run of its own, if it was generated: `--seed 7 --replay 12`.
    pub replay: Option<String>,
    /// The request.
    pub request: ReportedRequest,
    /// The response, if there was one.
    pub response: Option<ReportedResponse>,
    /// Why there was none.
    pub failure: Option<String>,
    /// A command for a shell that sends the request again; the key comes from `CONFORM_API_KEY`.
    pub curl: String,
}

/// A request, keys taken out.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedRequest {
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The header fields that the judge set.
    pub headers: Vec<(String, String)>,
    /// The body, if there was one.
    pub body: Option<String>,
}

/// A response, made printable.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedResponse {
    /// The status.
    pub status: u16,
    /// The header fields in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body, cut when long.
    pub body: String,
}
