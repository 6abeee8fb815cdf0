//! The trace of a run: every exchange, and the judge's knowledge about its target.

pub mod answerer;
// For reading recordings; it may change with any version.
#[doc(hidden)]
pub mod conditions;
pub mod exchange;
pub mod http_date;
pub mod json;
pub mod keys;
pub mod knowledge;
pub mod rate_limit;
pub mod retry_after;

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::catalogue::plan::PlanLimits;
use exchange::{Exchange, Request};
use keys::Keys;
use knowledge::Extent;

/// The exchanges of a run or a recording, and the facts about their target: everything that rules read.
#[derive(Clone)]
pub struct Trace {
    /// The facts about the target that do not come from the exchanges.
    pub context: Context,
    /// The exchanges in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
}

/// The judge's knowledge about its target beside the exchanges. Serialized, for recordings, it lacks the keys.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Context {
    /// The part of the traffic that the trace contains.
    pub extent: Extent,
    /// The base URL, without a trailing slash.
    pub base_url: String,
    /// Further addresses of the same service, in the same form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<String>,
    /// The keys that are known to be valid. The first is the main one.
    #[serde(skip)]
    pub keys: Keys,
    /// The limits of the keys' plan, when the user gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_limits: Option<PlanLimits>,
    /// The category of the animals that the run creates.
    pub category_id: i64,
    /// Whether the user says that the service knows this category. Else only responses show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vouches_for_category: bool,
    /// Whether the user says that only the run uses the keys. Else other clients may explain a count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_key: bool,
    /// A text that the name of each animal of this run contains and no other name does. `None` if there is no such text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_mark: Option<String>,
    /// The parts of the plan that were not carried out, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The names of the fixed parts of the plan that were not sent to their end. A run that has any is incomplete, whatever its other
    /// parts show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Cow<'static, str>>,
}

/// The header field in which each request of a run has an identifier of its own.
pub const REQUEST_ID: &str = "x-request-id";

/// A part of the plan that was not carried out.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LeftOut {
    /// The beginning of the identifiers of the requirements concerned, such as `quota.`; empty for all.
    pub requirements: Cow<'static, str>,
    /// The reason, as reports show it.
    pub reason: String,
}

impl Context {
    /// The context of a service at a base URL without keys and without a plan, in which animals can be created in the category 1.
    pub fn new(extent: Extent, base_url: impl Into<String>) -> Context {
        Context {
            extent,
            base_url: base_url.into(),
            replicas: Vec::new(),
            keys: Keys::default(),
            plan_limits: None,
            category_id: 1,
            vouches_for_category: true,
            exclusive_key: false,
            name_mark: None,
            left_out: Vec::new(),
            unfinished: Vec::new(),
        }
    }

    /// The addresses of the service: the base URL, then its replicas.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.base_url.as_str()).chain(self.replicas.iter().map(String::as_str))
    }

    /// The identifier that a request of the run carries in [`REQUEST_ID`], by the number of its exchange.
    pub fn request_id(&self, number: usize) -> Option<String> {
        let mark = self.name_mark.as_ref().filter(|_| self.extent == Extent::Run)?;
        Some(format!("conform-{mark}-{number}"))
    }

    /// The address that a request was sent to.
    pub fn address_of(&self, request: &Request) -> &str {
        self.addresses().nth(request.replica.unwrap_or_default()).unwrap_or(&self.base_url)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} exchanges)", self.exchanges.len())
    }
}

/// A hash of a value. It is equal in every run of one program.
#[doc(hidden)]
pub fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
impl Context {
    /// A context with the key `sk-Key1` and the category 1.
    pub(crate) fn for_test() -> Context {
        let keys = vec![keys::ApiKey::new("sk-Key1").expect("a usable key")].into();
        Context { keys, ..Context::new(Extent::Run, "http://127.0.0.1:1/v1") }
    }
}
