//! Configuration errors.

use std::io::ErrorKind;

use super::file::nearest;
use crate::command_line::key_file::NoKey;
use crate::command_line::usage_error::UsageError;
use animal_store_conformance::http::errors::of_file;
use animal_store_rules::toml_error::TomlError;

/// The reason why a configuration cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(in crate::command_line) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {path}: {}{}", of_file(.source), hint(.path, .source))]
    Unreadable { path: String, source: std::io::Error },
    /// The file is not valid.
    #[error("{path}, {source}")]
    Invalid { path: String, source: TomlError },
    /// An environment is selected, and there is no file.
    #[error(
        "--env {0} needs a configuration file, and there is no conform.toml in this directory or its parents within the \
         repository. Name one with --config PATH, or write one with `conform init`"
    )]
    NoFile(String),
    /// The file does not define this environment.
    #[error("{path} has no environment {name}{}", choice(.name, .known))]
    UnknownEnvironment { path: String, name: String, known: Vec<String> },
    /// Neither the environment nor another source names a target.
    #[error(
        "the environment {name} of {path} has no base_url: add base_url = \"https://…/v1\" to [environments.{name}]"
    )]
    NoTarget { path: String, name: String },
    /// The report of an earlier run is about a container image, which the report must not start.
    #[error("the report is about the image {0}: name the server with --image or --base-url")]
    ReportedImage(String),
    /// The file has environments, and none is selected.
    #[error(
        "no environment of {path} is selected. Select one with --env: {}; or ignore the file with --no-config",
        .known.join(", ")
    )]
    WhichEnvironment { path: String, known: Vec<String> },
    /// The value of an environment variable is not a text.
    #[error("environment variable {0}: the value is not valid UTF-8")]
    Variable(String),
    /// A variable that the file names is not set.
    #[error("{place}: {member} names the environment variable {variable}, which is not set: set it to the key")]
    NoVariable {
        /// The position at which the file names it.
        place: String,
        member: String,
        variable: String,
    },
    /// The report of an earlier run cannot be used.
    #[error(transparent)]
    Rerun(Box<UsageError>),
    /// A file contains no usable key.
    #[error("--{option}: {source}\n  Nothing was sent.")]
    NoKey {
        /// The option that names it.
        option: String,
        /// The reason why there is none.
        source: NoKey,
    },
    /// Two mutually exclusive options are set in the same place.
    #[error("{one} and {other} are mutually exclusive ({origin}): set only one of them")]
    Exclusive {
        one: &'static str,
        other: &'static str,
        /// The source that sets both.
        origin: String,
    },
}

/// The command that creates a missing file, as the end of a sentence.
fn hint(path: &str, error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound { format!(". Write one with `conform init {path}`") } else { String::new() }
}

/// The environments of the file, and the most similar name.
fn choice(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!(": it defines none. Add a table [environments.{name}]");
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?"));
    format!("{meant} (defined: {})", known.join(", "))
}
