//! The diagnosis of failures of the Animal Store API: likely [`causes`], and failures that are [known](known_failing).
//!
//! A cause changes no verdict. A known failure sets verdicts apart, as the user of the judge asks.
//!
//! ```
//! use animal_store_diagnose::known_failing::KnownFailing;
//!
//! let known = KnownFailing::parse("[[known-failing]]\nid = \"list.array\"\nreason = \"ticket 4711\"\n")?;
//! assert!(known.expects_failure("list.array"));
//! # Ok::<(), animal_store_rules::toml_error::TomlError>(())
//! ```

pub mod causes;
pub mod known_failing;

use animal_store_rules::Scope;
use animal_store_rules::facts::Facts;
use animal_store_rules::fleet::Fleet;
use animal_store_rules::rules::Memory;
use animal_store_rules::verdict::{RequirementVerdict, verdicts};
use causes::Cause;

/// The conclusion from a trace.
#[derive(Clone, Debug, Default)]
pub struct Conclusion {
    /// The verdict on each requirement of the judged parties, in the order of the catalogue.
    pub verdicts: Vec<RequirementVerdict>,
    /// The likely causes of failures, those that explain most first.
    pub causes: Vec<Cause>,
    /// The facts about each address of the service, if it has several.
    pub fleet: Option<Fleet>,
}

/// Concludes from the facts of a trace: first verdicts, then their causes.
pub fn conclude(facts: &Facts<'_>, scope: &Scope) -> Conclusion {
    let fleet = Fleet::of(facts);
    let verdicts = verdicts(facts, fleet.as_ref(), scope, &mut Memory::default());
    Conclusion { causes: causes::causes(facts, fleet.as_ref(), &verdicts), verdicts, fleet }
}

#[cfg(test)]
use animal_store_rules::{catalogue, facts, history, limits, rules, trace};

#[cfg(test)]
#[path = "../../rules/src/tests.rs"]
#[expect(dead_code, reason = "the tests of the rules use the rest")]
mod trace_builder;
