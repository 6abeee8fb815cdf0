//! The shape of a report. Its version changes when a member changes its meaning or goes; members may be added.
//!
//! Everything that a renderer tells stands here, so that a report can be rendered, or compared, by a program that never saw
//! the run.

use serde::{Deserialize, Serialize};

use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::{Status, Verdict};

/// The version of the report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that there is to tell about a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What made the report.
    pub tool: Tool,
    /// The verdict on the run.
    #[cfg_attr(test, schemars(with = "crate::schema::Verdict"))]
    pub verdict: Verdict,
    /// What was judged.
    pub target: Target,
    /// The seed of everything random.
    pub seed: u64,
    /// The command that asks for the same run again; keys come from `CONFORM_API_KEY` and `CONFORM_QUOTA_KEY`.
    #[serde(default)]
    pub again: String,
    /// The profile.
    #[cfg_attr(test, schemars(with = "crate::schema::Profile"))]
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
    /// The fixed parts of the run that were not sent to their end, by name. A run that has any is incomplete at the best.
    #[serde(default)]
    pub unfinished: Vec<String>,
    /// What the reader should know about how the run was asked for.
    pub notes: Vec<String>,
    /// How the tour's transcript differs from that of every lawful server, as a unified diff, if it does.
    pub transcript_diff: Option<String>,
    /// The end of what the candidate logged, if it was started for the run and did not conform.
    pub candidate_log: Option<String>,
    /// Every requirement, in the order of the specification.
    pub requirements: Vec<RequirementReport>,
    /// What the candidate chose where the specification leaves a choice: every selected open requirement, in order.
    pub gap_profile: Vec<Choice>,
    /// How much of each section of the specification was judged, and how it went, in the order of the specification.
    pub coverage: Vec<SectionCoverage>,
    /// What the rate-limit headers told, answer by answer, in the order of sending.
    pub timeline: Vec<WindowPoint>,
    /// Every exchange of the run, in the order of sending. It is no part of the JSON report, which would be several
    /// times as large by it: HAR is the format for exchanges.
    #[serde(skip)]
    pub exchanges: Vec<RecordedExchange>,
}

/// What made the report.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What was judged.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// The base URL.
    pub base_url: String,
    /// The container image that was started for the run, if one was.
    pub image: Option<String>,
    /// The plan of the key, if it was told.
    pub plan: Option<String>,
}

/// One requirement.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequirementReport {
    /// Its identifier.
    pub id: String,
    /// Its level.
    #[cfg_attr(test, schemars(with = "crate::schema::Level"))]
    pub level: Level,
    /// The section of the specification that it rests on.
    pub section: String,
    /// The requirement in a line.
    pub title: String,
    /// The requirement in a paragraph.
    pub text: String,
    /// The statements of the specification that it answers for, in other words.
    pub statements: Vec<String>,
    /// For an inferred requirement: what it follows from, beside the stated sentence.
    pub from: Option<String>,
    /// What a server does that breaks it, unless it is open.
    pub breaks: Option<String>,
    /// Whether the run was asked for it.
    pub selected: bool,
    /// Whether it makes the candidate violate.
    pub violation: bool,
    /// What was found.
    #[cfg_attr(test, schemars(with = "crate::schema::Status"))]
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Choice {
    /// The identifier of the open requirement.
    pub id: String,
    /// The open question in a line.
    pub title: String,
    /// The choice, as far as this run shows it.
    pub observed: Option<String>,
}

/// One place where a requirement was broken.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportedResponse {
    /// The status.
    pub status: u16,
    /// The header fields in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body, cut when long.
    pub body: String,
}

/// How much of a section was judged, and how it went.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SectionCoverage {
    /// The section of the specification.
    pub section: String,
    /// A tally for each level that the section has requirements of.
    pub tallies: Vec<Tally>,
}

/// The requirements of one section and one level, counted by what was found. The counts add up to `requirements`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tally {
    /// The level.
    #[cfg_attr(test, schemars(with = "crate::schema::Level"))]
    pub level: Level,
    /// How many requirements there are.
    pub requirements: usize,
    /// How many the run was not asked for.
    pub not_selected: usize,
    /// How many held.
    pub pass: usize,
    /// How many were broken.
    pub fail: usize,
    /// How many were broken as they are known to be.
    pub known_failing: usize,
    /// How many are listed as known to fail, and no longer do.
    pub stale_known_failing: usize,
    /// How many could not be judged.
    pub not_exercised: usize,
    /// How many are open.
    pub observed: usize,
}

impl Tally {
    /// Nothing counted yet.
    pub(super) fn new(level: Level) -> Tally {
        Tally {
            level,
            requirements: 0,
            not_selected: 0,
            pass: 0,
            fail: 0,
            known_failing: 0,
            stale_known_failing: 0,
            not_exercised: 0,
            observed: 0,
        }
    }

    /// Counts those of another section as well.
    pub(super) fn add(&mut self, other: &Tally) {
        self.requirements += other.requirements;
        self.not_selected += other.not_selected;
        self.pass += other.pass;
        self.fail += other.fail;
        self.known_failing += other.known_failing;
        self.stale_known_failing += other.stale_known_failing;
        self.not_exercised += other.not_exercised;
        self.observed += other.observed;
    }
}

/// What the rate-limit headers of one answer told. A header that is missing or no integer is absent here.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WindowPoint {
    /// The number of the exchange in the run.
    pub exchange: usize,
    /// When the answer was complete, RFC 3339 in UTC, by the judge's clock.
    pub at: String,
    /// Which key the request came with.
    pub key: KeyAlias,
    /// The status of the answer.
    pub status: u16,
    /// `X-RateLimit-Limit`
    pub limit: Option<i64>,
    /// `X-RateLimit-Remaining`
    pub remaining: Option<i64>,
    /// `X-RateLimit-Reset`, a Unix time in seconds by the candidate's clock.
    pub reset: Option<i64>,
}

/// Which key a request came with, without telling it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KeyAlias {
    /// The main key, in the described form.
    Main,
    /// The key that the run may use up, in the described form.
    Quota,
    /// No credential at all.
    None,
    /// Anything else: a wrong key, or a key in another form or place.
    Other,
}

impl KeyAlias {
    /// The word for the key in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            KeyAlias::Main => "main",
            KeyAlias::Quota => "quota",
            KeyAlias::None => "none",
            KeyAlias::Other => "other",
        }
    }
}

/// An exchange of the run, keys taken out, with its bodies as far as a report holds them.
#[derive(Clone, Debug)]
pub struct RecordedExchange {
    /// Its number in the run, from 1.
    pub number: usize,
    /// Which probe sent it.
    pub probe: String,
    /// What the request is, apart from names, ids and keys; empty where requests are generated.
    pub step: String,
    /// Which key it came with.
    pub key: KeyAlias,
    /// When it was sent, RFC 3339 in UTC.
    pub sent_at: String,
    /// When the outcome was complete, RFC 3339 in UTC.
    pub received_at: String,
    /// The time between the two, in microseconds.
    pub elapsed_us: u64,
    /// The options that send it again in a run of its own, if it was generated: `--seed 7 --replay 12`.
    pub replay: Option<String>,
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The header fields that the judge set, names in lower case.
    pub request_headers: Vec<(String, String)>,
    /// The request's body, if there was one.
    pub request_body: Option<RecordedBody>,
    /// The response, if there was one.
    pub response: Option<RecordedResponse>,
    /// Why there was none.
    pub failure: Option<String>,
    /// A command for a shell that sends the request again; the key comes from `CONFORM_API_KEY`.
    pub curl: String,
}

/// A response of the run.
#[derive(Clone, Debug)]
pub struct RecordedResponse {
    /// The status.
    pub status: u16,
    /// The header fields in the order of arrival, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: RecordedBody,
}

/// A body of the run, keys taken out, up to a bound.
#[derive(Clone, Debug)]
pub struct RecordedBody {
    /// The body as printable text, cut at the bound.
    pub text: String,
    /// The same bytes in base64, when the text does not tell them: they are no UTF-8, or hold control characters.
    pub base64: Option<String>,
    /// How many bytes the body has altogether.
    pub size: usize,
    /// Whether more was received than stands here.
    pub cut: bool,
}
