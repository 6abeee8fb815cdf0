//! The catalogue of requirements, read from `fixtures/requirements.toml`.
//!
//! The file is compiled in, so a binary has the catalogue that its rules were written for; a test checks that they agree. Rules
//! are looked up by identifier and never define text of their own.

pub mod figures;
pub mod plan;
pub mod scope;

mod run_part;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::worded;

pub use run_part::RunPart;

worded! {
    /// The ground of a requirement in the specification, which decides the verdict on a server or client that breaks it.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        /// A requirement that the specification states: breaking it is a violation.
        Stated = "stated",
        /// A requirement that follows from a stated sentence together with HTTP: breaking it is a warning, and a violation under `--strict`.
        Inferred = "inferred",
        /// A choice that the specification leaves open: it is recorded and cannot fail.
        Open = "open",
    }
}

/// The party that a requirement binds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The party that answers requests.
    #[default]
    Server,
    /// The party that sends requests.
    Client,
}

/// An effect on the target without which a requirement cannot be judged. Profiles leave requirements out by it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A key is exhausted.
    Exhaustion,
    /// Animals are created.
    Creation,
    /// Unknown keys are sent. A service may lock out an address that sends many of them.
    UnknownKeys,
}

/// The later responses that cannot be judged while a requirement is broken, the most first.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "kebab-case")]
pub enum Hides {
    /// Every response.
    EveryResponse,
    /// The responses of every operation to requests with a valid key.
    EveryOperation,
    /// The responses of one operation.
    OneOperation,
    /// The animals in responses.
    Animals,
    /// No response.
    #[default]
    Nothing,
}

/// The subject of a requirement, which decides the form in which reports show its evidence.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// Requests and their responses.
    #[default]
    Requests,
    /// The keys of requests.
    Keys,
    /// The limit of a key, as rate-limit headers and times show it.
    Limits,
    /// The bodies and the effects of refusals for the limit.
    Refusals,
}

/// A requirement of the catalogue.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The stable identifier, such as `auth.missing-key`. The part before the dot is the area.
    pub id: String,
    /// The ground of the requirement in the specification.
    pub level: Level,
    /// The party that the requirement binds.
    #[serde(default)]
    pub party: Party,
    /// The section of the specification that the requirement rests on.
    pub section: String,
    /// The requirement in a line.
    pub title: String,
    /// The requirement in a paragraph.
    pub text: String,
    /// The behaviour that breaks a stated or inferred requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
    /// The source of an inferred requirement beside the stated sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The choice of the reference server for an open requirement, or the purpose of recording the choice of a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The reason for the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The parts of a run that exercise the requirement: every part by default, none for a requirement of clients.
    #[serde(default = "every_part", skip_serializing)]
    pub needs: Vec<RunPart>,
    /// The effect on the target without which the requirement cannot be judged.
    #[serde(skip_serializing)]
    pub effect: Option<Effect>,
    /// The later responses that cannot be judged while the requirement is broken.
    #[serde(default, skip_serializing)]
    pub hides: Hides,
    /// The subject of the requirement.
    #[serde(default, skip_serializing)]
    pub about: About,
    /// The names of exchanges that show the requirement, in `fixtures/examples.jsonl`; empty if it cannot be observed over HTTP.
    #[serde(skip_serializing)]
    pub example: Vec<String>,
}

fn every_part() -> Vec<RunPart> {
    RunPart::ALL.to_vec()
}

impl Requirement {
    /// The part of the identifier before the dot.
    pub fn area(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }
}

/// A statement of the specification, paraphrased, and the requirements that cover it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The section of the specification with the statement.
    pub section: String,
    /// The statement in a line.
    pub gist: String,
    /// The identifiers of the requirements that cover the statement.
    pub requirements: Vec<String>,
}

/// The catalogue of requirements, in the order of the specification.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The version of the catalogue.
    pub version: String,
    /// The version of the interface that the specification describes.
    pub specification: String,
    /// Every requirement.
    #[serde(rename = "requirement")]
    pub requirements: Vec<Requirement>,
    /// Every statement of the specification.
    #[serde(rename = "statement")]
    pub statements: Vec<Statement>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!(env!("REQUIREMENTS")))
        .expect("the compiled-in catalogue parses: a test of this module reads it")
});

/// The compiled-in catalogue.
pub fn catalogue() -> &'static Catalogue {
    &CATALOGUE
}

/// The name most like a misspelt one, if their Jaro-Winkler similarity is more than this.
pub fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>, least: f64) -> Option<&'n str> {
    let rated = names.map(|name| (strsim::jaro_winkler(name, typed), name));
    rated.filter(|(likeness, _)| *likeness > least).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

impl Catalogue {
    /// The SHA-256 of the catalogue in hexadecimal. Two programs with the same digest judge by the same requirements.
    pub fn digest(&self) -> &'static str {
        env!("REQUIREMENTS_DIGEST")
    }

    /// The requirement with this identifier.
    pub fn get(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }

    /// The requirements that bind a party.
    pub fn of(&self, party: Party) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(move |requirement| requirement.party == party)
    }

    /// Returns true if a pattern, as `--only` and `--skip` take it, is an identifier or the beginning of one.
    pub fn knows(&self, pattern: &str) -> bool {
        !pattern.is_empty() && self.requirements.iter().any(|requirement| requirement.id.starts_with(pattern))
    }

    /// The identifier or area nearest to a misspelt pattern, for the error message.
    pub fn nearest(&self, pattern: &str) -> Option<&str> {
        // A pattern without a dot means an area.
        let has_dot = pattern.contains('.');
        let requirements = self.requirements.iter();
        nearest(pattern, requirements.map(|found| if has_dot { &found.id } else { found.area() }), 0.7)
    }

    /// The end of the error message about a misspelt pattern: the identifier that was probably meant, or the command that lists all.
    pub fn did_you_mean(&self, pattern: &str) -> String {
        match self.nearest(pattern) {
            Some(candidate) => format!("; did you mean {candidate}?"),
            None => "; `conform rules` lists them all".to_owned(),
        }
    }

    /// The statements of the specification that a requirement covers.
    pub fn statements_behind(&self, id: &str) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(move |statement| statement.requirements.iter().any(|named| named == id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_requirement_answers_for_a_statement_and_every_statement_has_a_requirement() {
        let named: HashSet<&str> =
            catalogue().statements.iter().flat_map(|s| s.requirements.iter().map(String::as_str)).collect();
        for statement in &catalogue().statements {
            assert!(!statement.requirements.is_empty(), "nothing answers for: {}", statement.gist);
        }
        for id in &named {
            assert!(catalogue().get(id).is_some(), "a statement names `{id}`, which the catalogue lacks");
        }
        for requirement in &catalogue().requirements {
            assert!(named.contains(requirement.id.as_str()), "no statement names {}", requirement.id);
        }
    }

    #[test]
    fn identifiers_are_unique_slugs() {
        let mut seen = HashSet::new();
        for requirement in &catalogue().requirements {
            let id = requirement.id.as_str();
            assert!(seen.insert(id), "{id} stands twice");
            let (area, name) = id.split_once('.').expect("an identifier is area.name");
            let slug =
                |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            assert!(slug(area) && slug(name), "{id} is no slug");
        }
    }

    #[test]
    fn every_entry_is_complete() {
        for requirement in &catalogue().requirements {
            let id = &requirement.id;
            assert_eq!(requirement.level == Level::Inferred, requirement.from.is_some(), "{id}: `from`");
            assert_eq!(requirement.level == Level::Open, requirement.choice.is_some(), "{id}: `choice`");
            assert_eq!(requirement.choice.is_some(), requirement.why.is_some(), "{id}: `why`");
            assert_eq!(requirement.level != Level::Open, requirement.breaks.is_some(), "{id}: `breaks`");
            let (is_exercised, is_shown) = (!requirement.needs.is_empty(), !requirement.example.is_empty());
            match requirement.party {
                Party::Server => assert!(is_exercised || !is_shown, "{id}: `needs`"),
                Party::Client => assert!(!is_exercised && requirement.area() == "client", "{id}: `needs`"),
            }
            assert!(is_shown || requirement.level == Level::Open, "{id}: `example`");
            let needs_its_effect = match requirement.effect {
                None => true,
                Some(Effect::Exhaustion) => requirement.needs.contains(&RunPart::Exhaustion),
                Some(Effect::Creation) => requirement.needs.contains(&RunPart::Creations),
                Some(Effect::UnknownKeys) => requirement.needs.contains(&RunPart::Credentials),
            };
            assert!(needs_its_effect, "{id}: `needs` and `effect`");
            for text in std::iter::once(&requirement.text).chain(&requirement.breaks) {
                assert!(text.ends_with('.'), "{id}: not a sentence: {text}");
            }
        }
    }

    #[test]
    fn a_misspelt_identifier_finds_its_neighbour() {
        assert_eq!(catalogue().nearest("auth.mising-key"), Some("auth.missing-key"));
        assert_eq!(catalogue().nearest("qota"), Some("quota"));
        assert_eq!(catalogue().nearest("zzzz"), None);
    }
}
