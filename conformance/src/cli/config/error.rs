//! What can be wrong with a configuration.

use std::io::ErrorKind;

use super::file::nearest;
use animal_store_rules::toml_error::TomlError;
use animal_store_rules::trace::keys::UnusableKey;

/// Why a configuration cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {path} cannot be read: {source}{}", hint(.path, .source))]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file says what it cannot say.
    #[error("{path}, {source}")]
    Malformed {
        /// The file.
        path: String,
        /// Where and how.
        source: TomlError,
    },
    /// There is no file that could name environments.
    #[error(
        "there is no configuration file for the environment {0}: none is called conform.toml here, nor further up in this \
         repository. Name it with --config PATH, or write one with `conform init`"
    )]
    NoFile(String),
    /// The file knows no such environment.
    #[error("{path} has no environment {name}{}", choice(.name, .known))]
    UnknownEnvironment {
        /// The file.
        path: String,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Neither the environment nor anything else says which server.
    #[error(
        "the environment {name} of {path} has no base_url: write base_url = \"https://…/v1\" below [environments.{name}]"
    )]
    NoTarget {
        /// The file.
        path: String,
        /// The environment.
        name: String,
    },
    /// The file has several servers, and none was picked.
    #[error(
        "which environment of {path}? Pick one with --env: it has {}. To leave the file aside, say --no-config",
        .known.join(", ")
    )]
    WhichEnvironment {
        /// The file.
        path: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A variable says what its option does not take.
    #[error("environment variable {variable}: {problem}")]
    Variable {
        /// The variable.
        variable: String,
        /// What is wrong with what it says.
        problem: String,
    },
    /// A variable that the file names is not there.
    #[error("{place}: {member} names the environment variable {variable}, which is not set: set it to the key")]
    NoVariable {
        /// Where it is named.
        place: String,
        /// By which member.
        member: String,
        /// The variable.
        variable: String,
    },
    /// What a variable that the file names holds is no key.
    #[error("{place}: {member} names the environment variable {variable}: {source}")]
    Key {
        /// Where it is named.
        place: String,
        /// By which member.
        member: String,
        /// The variable.
        variable: String,
        /// What is wrong with the key.
        source: UnusableKey,
    },
    /// Two options that exclude each other are asked for in the same place.
    #[error("{one} and {other} exclude each other ({origin}): ask for one of them")]
    Rivals {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// Where they are asked for.
        origin: String,
    },
}

/// What to do about a file that is not there.
fn hint(path: &str, error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        format!(". `conform init {path}` writes one to start from")
    } else {
        String::new()
    }
}

/// What there is, and what was probably meant.
fn choice(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!(": it has none. Write [environments.{name}], and below it what holds there");
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?"));
    format!("{meant} (it has {})", known.join(", "))
}
