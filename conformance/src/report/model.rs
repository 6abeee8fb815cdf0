//! The data model of a report. Its version changes when a member changes its meaning or is removed; members may be added.
//!
//! It contains everything that renderers need, so that a report can be rendered or compared without the run.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::counting::Counting;
use super::traffic::Answerers;
use crate::options::Earlier;
use animal_store_diagnose::causes::Cause;
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::{Profile, Side};
use animal_store_rules::fleet::Reads;
use animal_store_rules::verdict::attribution::Attribution;
use animal_store_rules::verdict::findings::Share;
use animal_store_rules::verdict::{Status, Verdict};
use animal_store_rules::worded;
use animal_store_traffic::Writer;

/// The name of the judge in its reports and traces.
pub const TOOL: &str = env!("CARGO_PKG_NAME");

/// The judge as the writer of a report or a trace.
pub fn writer() -> Writer {
    Writer { name: TOOL.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The version of the report's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// The report on a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The version of the schema: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that wrote the report.
    #[cfg_attr(test, schemars(with = "tests::Tool"))]
    pub tool: Writer,
    /// The version of the interface that the specification describes.
    pub specification: String,
    /// The catalogue of requirements.
    pub catalogue: CatalogueVersion,
    /// The verdict on the run.
    #[cfg_attr(test, schemars(with = "tests::Verdict"))]
    pub verdict: Verdict,
    /// The selection of requirements.
    pub selection: Selection,
    /// The target that was judged.
    pub target: Target,
    /// The seed of the random generator.
    pub seed: u64,
    /// The command that repeats the run; keys come from `CONFORM_API_KEY` and `CONFORM_QUOTA_KEY`.
    pub rerun_command: String,
    /// The options of the rerun command, without keys and other secrets, and without `--only`. `--rerun` takes the selection, the seed
    /// and the address from them.
    pub options: Vec<GivenOption>,
    /// The changes since the report that the run repeats, if it repeats one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// The profile.
    #[cfg_attr(test, schemars(with = "tests::Profile"))]
    pub profile: Profile,
    /// The side that was judged: that of the server, of its clients, or both.
    #[cfg_attr(test, schemars(with = "tests::Side"))]
    pub side: Side,
    /// Whether a broken inferred requirement is a violation.
    pub strict: bool,
    /// The time at which the first request was sent, RFC 3339 in UTC.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// The number of requests that were sent.
    pub requests: usize,
    /// The number of requests with a key that the server may count them against.
    pub requests_with_key: usize,
    /// The number of requests with a key that were refused with 429.
    pub refused: usize,
    /// The numbers of requests by the party that answered them.
    pub answerers: Answerers,
    /// The number of animals that were created.
    pub created: usize,
    /// The identifiers of the animals that the run created, for those who remove them: the service has no operation that does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created_ids: Vec<i64>,
    /// The duration of the run with its waits, in milliseconds.
    pub duration_ms: u64,
    /// The time that a run on a simulated clock really took, in milliseconds. Absent for a run in real time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_duration_ms: Option<u64>,
    /// The reason why the run ended early, if it did.
    pub ended_early: Option<String>,
    /// The names of the fixed parts of the run that were not sent completely. A run that has any is incomplete at best.
    pub unfinished: Vec<String>,
    /// Notes about the options of the run.
    pub notes: Vec<String>,
    /// The difference between the tour's transcript and that of every conforming server, as a unified diff, if there is one.
    pub transcript_diff: Option<String>,
    /// The end of the candidate's log, if it was started for the run and did not conform.
    pub candidate_log: Option<String>,
    /// The results for each address of the service, if it has several. The base URL comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Replica>,
    /// The likely causes of failures. A cause that explains more comes first.
    #[cfg_attr(test, schemars(with = "Vec<tests::LikelyCause>"))]
    pub causes: Vec<Cause>,
    /// Every requirement, in the order of the specification.
    pub requirements: Vec<RequirementReport>,
    /// The candidate's choices where the specification leaves one: every selected open requirement, in order.
    pub gap_profile: Vec<Choice>,
    /// The way in which the service counts the requests of each key, as far as responses show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counting: Vec<Counting>,
    /// The rate-limit headers of each response, in the order of sending.
    pub timeline: Vec<WindowPoint>,
    /// Every exchange of the run, in the order of sending. The JSON report does not contain them, because they would make it
    /// several times as large: HAR is the format for exchanges.
    #[serde(skip)]
    pub exchanges: Vec<ReportedExchange>,
}

/// An option of the command line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GivenOption {
    /// The name of the option, such as `--base-url`.
    pub name: String,
    /// The value, unless the option is a switch.
    pub value: Option<String>,
}

/// The requirements that an earlier report calls broken, and others that are broken now.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Since {
    /// The name of the earlier report.
    pub report: String,
    /// The requirements that hold now.
    pub fixed: Vec<String>,
    /// The requirements that are still broken.
    pub still_broken: Vec<String>,
    /// The requirements that are broken now and were not.
    pub new: Vec<String>,
    /// The requirements that the run did not exercise.
    pub not_exercised: Vec<String>,
}

impl Since {
    /// Compares these requirements with those that an earlier report calls broken.
    pub(crate) fn of(earlier: &Earlier, requirements: &[RequirementReport]) -> Since {
        let was_broken = |requirement: &&RequirementReport| earlier.broken.contains(&requirement.id);
        let ids = |is_listed: &dyn Fn(&&RequirementReport) -> bool| {
            requirements.iter().filter(is_listed).map(|requirement| requirement.id.clone()).collect()
        };
        Since {
            report: earlier.report.clone(),
            fixed: ids(&|r| was_broken(r) && r.status == Status::Pass),
            still_broken: ids(&|r| was_broken(r) && r.is_broken()),
            new: ids(&|r| !was_broken(r) && r.is_broken()),
            not_exercised: ids(&|r| was_broken(r) && r.status == Status::NotExercised),
        }
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fixed, still_broken, new) = (self.fixed.len(), self.still_broken.len(), self.new.len());
        write!(f, "since {}: fixed: {fixed}, still broken: {still_broken}, new: {new}", self.report)?;
        match self.not_exercised.len() {
            0 => Ok(()),
            left => write!(f, ", not exercised: {left}"),
        }
    }
}

/// The selection of the requirements that the verdict is about. Open requirements, which cannot fail, are not counted.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Selection {
    /// The number of requirements that were selected.
    pub selected: usize,
    /// The number of requirements that the catalogue has for the judged side.
    pub requirements: usize,
    /// The options that selected them, if not all were: `--only orders.exists`, for example, in the order of the command line's help.
    pub by: Vec<String>,
}

/// The target that was judged.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Target {
    /// The base URL.
    pub base_url: String,
    /// The environment of the configuration that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// The implementation at the base URL, as far as it is known.
    pub implementation: Implementation,
    /// The container image that was started for the run, if one was.
    pub image: Option<String>,
    /// The plan of the key, if it was given.
    pub plan: Option<String>,
}

/// The implementation that was judged, as far as it is known: a base URL tells neither its name nor its version.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Implementation {
    /// The name of the implementation.
    pub name: Option<String>,
    /// The version of the implementation.
    pub version: Option<String>,
}

impl Implementation {
    /// The facts of this value, completed by the facts of the other one.
    #[must_use]
    pub fn or(self, other: Implementation) -> Implementation {
        Implementation { name: self.name.or(other.name), version: self.version.or(other.version) }
    }

    /// The name and the version, if the name is known.
    pub fn title(&self) -> Option<String> {
        let version = self.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        self.name.as_ref().map(|name| format!("{name}{version}"))
    }
}

/// The catalogue of requirements that a report was judged by.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CatalogueVersion {
    /// The version of the catalogue.
    pub version: String,
    /// The SHA-256 of the catalogue in hexadecimal. Reports with equal digests were judged by the same requirements.
    pub digest: String,
}

impl CatalogueVersion {
    /// The beginning of the digest, for people to compare.
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }
}

/// The results for one address.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Replica {
    /// The address.
    pub base_url: String,
    /// The number of requests that were sent to the address.
    pub requests: usize,
    /// The number of requests with a key that the server may count them against.
    pub requests_with_key: usize,
    /// The number of animals that were created at the address.
    pub created: usize,
    /// The requirements that responses of the address break.
    pub findings: Vec<String>,
    /// The findings that no response of another address shows, although such requests were sent there.
    pub only_here: Vec<String>,
    /// The reads of animals that were created at other addresses.
    #[cfg_attr(test, schemars(with = "tests::ReadsElsewhere"))]
    pub reads: Reads,
    /// The other addresses that count the requests of a key together with this one: an empty array if it counts alone, null if the run
    /// does not show it.
    pub counts_with: Option<Vec<String>>,
}

/// The result of one requirement.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RequirementReport {
    /// The identifier of the requirement.
    pub id: String,
    /// The level of the requirement.
    #[cfg_attr(test, schemars(with = "tests::Level"))]
    pub level: Level,
    /// The section of the specification that the requirement is from.
    pub section: String,
    /// The title of the requirement.
    pub title: String,
    /// The description of the requirement.
    pub text: String,
    /// The statements of the specification that the requirement covers, restated.
    pub statements: Vec<String>,
    /// The basis of an inferred requirement, in addition to the specification.
    pub from: Option<String>,
    /// Examples of violations, unless the requirement is open.
    pub breaks: Option<String>,
    /// Whether the requirement was selected for the run.
    pub selected: bool,
    /// Whether the requirement is broken in a way that makes the verdict `violates`.
    pub violation: bool,
    /// The number of known faults that the requirement catches, unless it is open or binds clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults_caught: Option<usize>,
    /// The status of the requirement.
    #[cfg_attr(test, schemars(with = "tests::Status"))]
    pub status: Status,
    /// The number of times that the requirement was judged.
    pub judged: usize,
    /// The number of times that the requirement was broken.
    pub failures: usize,
    /// The reason for the status: not exercised, known to fail, no longer known to fail; or, if it held, the part that could not be seen.
    pub reason: Option<String>,
    /// The candidate's choice, for an open requirement.
    pub observed: Option<String>,
    /// The total time of the exchanges that the requirement was judged on, in milliseconds, if its rule judges single exchanges.
    pub duration_ms: u64,
    /// The probes of all exchanges that show a failure, not of the examples alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_in: Vec<String>,
    /// An example of each kind of failure, the worst kind first.
    pub evidence: Vec<Evidence>,
}

/// A candidate's choice where the specification leaves one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Choice {
    /// The identifier of the open requirement.
    pub id: String,
    /// The title of the requirement.
    pub title: String,
    /// The choice, if the run shows it.
    pub observed: Option<String>,
}

/// The failures of a requirement that are of one kind, with an example.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Evidence {
    /// Expectation and finding in one sentence.
    pub sentence: String,
    /// The expectation.
    pub expected: String,
    /// The finding.
    pub found: String,
    /// The number of failures of this kind.
    pub count: usize,
    /// The parts of requests that the failures are about, as they were sent: the first few.
    pub subjects: Vec<String>,
    /// A reader that takes the request of a near miss for another one, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader: Option<String>,
    /// The share of equal requests that show the failure, if only some do.
    #[cfg_attr(test, schemars(with = "Option<tests::Intermittent>"))]
    pub intermittent: Option<Share>,
    /// The harmless header fields of requests without which the failure does not show, such as `accept-encoding: gzip`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_with: Vec<String>,
    /// The addresses that show the failure, if the service has several and not all of them do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<tests::Attribution>"))]
    pub attribution: Option<Attribution>,
    /// The exchanges that show the example, the decisive one first.
    pub exchanges: Vec<ReportedExchange>,
}

/// An exchange, keys redacted.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReportedExchange {
    /// The number of the exchange in the run, from 1.
    pub number: usize,
    /// The address that the request was sent to, if the service has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
    /// The probe that sent the request, such as `tour`.
    pub probe: String,
    /// The step of the probe: the request without names, ids and keys; empty for generated requests.
    #[serde(skip)]
    pub step: String,
    /// The key of the request.
    #[serde(skip)]
    pub key: KeyAlias,
    /// The time at which the request was sent, RFC 3339 in UTC.
    #[cfg_attr(test, schemars(with = "String"))]
    pub sent_at: Timestamp,
    /// The time until the response was complete or failed, in microseconds.
    #[serde(skip)]
    pub elapsed_us: u64,
    /// The request.
    pub request: ReportedRequest,
    /// The response, if there was one.
    pub response: Option<ReportedResponse>,
    /// The error, if there was no response.
    pub failure: Option<String>,
    /// The identifier of the request, which it carried in `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The identifier that the response gives, in `X-Request-Id` or a similar field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// A shell command that repeats the request; the key comes from `CONFORM_API_KEY`.
    pub curl: String,
}

impl ReportedExchange {
    /// The identifiers of request and response in a line, if the response has one.
    pub fn ids(&self) -> Option<String> {
        let response = self.response_id.as_ref()?;
        Some(match self.request_id.as_ref().filter(|request| *request != response) {
            Some(request) => format!("request {request}, response {response}"),
            None => format!("request and response {response}"),
        })
    }
}

/// A request, keys redacted.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReportedRequest {
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The header fields that the judge set.
    pub headers: Vec<(String, String)>,
    /// The body, if there was one.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub body: Option<ReportedBody>,
}

/// A response, made printable.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReportedResponse {
    /// The status.
    pub status: u16,
    /// The header fields in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body, truncated when long.
    #[cfg_attr(test, schemars(with = "String"))]
    pub body: ReportedBody,
}

/// A body, keys redacted, up to a bound. Serialized, it is its text.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(from = "String", into = "String")]
pub struct ReportedBody {
    /// The body as printable text, truncated at the bound.
    pub text: String,
    /// The body in base64, if the text differs from its bytes: they are not UTF-8, or contain control characters.
    pub base64: Option<String>,
    /// The size of the whole body in bytes.
    pub size: usize,
    /// Whether the body is truncated here.
    pub cut: bool,
}

impl From<String> for ReportedBody {
    fn from(text: String) -> ReportedBody {
        ReportedBody { base64: None, size: text.len(), cut: false, text }
    }
}

impl From<ReportedBody> for String {
    fn from(body: ReportedBody) -> String {
        body.text
    }
}

worded! {
    /// The key of a request, by its role.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum KeyAlias {
        /// The main key as a bearer token, however it is spelt.
        Main = "main",
        /// The key that the run may exhaust, as a bearer token, however it is spelt.
        Quota = "quota",
        /// No credential at all.
        None = "none",
        /// Anything else: a wrong key, or a key in another place.
        // The JSON report does not name the keys of exchanges.
        #[default]
        Other = "other",
    }
}

/// The rate-limit headers of a response. A header that is missing or not an integer is absent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WindowPoint {
    /// The number of the exchange in the run.
    pub exchange: usize,
    /// The time at which the response was complete, RFC 3339 in UTC, by the judge's clock.
    #[cfg_attr(test, schemars(with = "String"))]
    pub at: Timestamp,
    /// The key of the request.
    pub key: KeyAlias,
    /// The status of the response.
    pub status: u16,
    /// `X-RateLimit-Limit`
    pub limit: Option<i64>,
    /// `X-RateLimit-Remaining`
    pub remaining: Option<i64>,
    /// `X-RateLimit-Reset`, a Unix time in seconds by the candidate's clock.
    pub reset: Option<i64>,
}

#[cfg(test)]
mod tests;
