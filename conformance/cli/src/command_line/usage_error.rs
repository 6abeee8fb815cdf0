//! Errors in the options of a command line.

use std::io::ErrorKind;
use std::path::Path;

use animal_store_conformance::UnusableOptions;
use animal_store_conformance::http::errors::of_file;
use animal_store_rules::catalogue::{catalogue, nearest};
use animal_store_rules::toml_error::TomlError;
use animal_store_rules::trace::keys::UnusableKey;

/// An invalid option, or a missing one. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    /// No target is named.
    #[error(
        "no target: name a server with --base-url URL (cargo xtask conform without options judges the embedded reference)"
    )]
    NoTarget,
    /// An address without its option.
    #[error("`{0}` is an address without an option\n  To judge the server there: --base-url {0}")]
    StrayAddress(String),
    /// A variable to pass on is not set.
    #[error("--container-env {0}: this environment variable is not set; set it, or write {0}=VALUE")]
    NoVariable(String),
    /// The feature is not compiled in.
    #[error(
        "--image is not available in this program: use `cargo xtask conform --image`, or the program of the package animal-store-containers"
    )]
    NoContainers,
    /// The file that an option names cannot be read.
    #[error("{option} {path}: {}\n  Name a file that can be read. Nothing was sent.", of_file(.source))]
    OptionFile { option: &'static str, path: String, source: std::io::Error },
    /// The file of a key contains no usable key.
    #[error("{option}: {source}\n  Nothing was sent.")]
    Key { option: &'static str, source: UnusableKey },
    /// No key is given.
    #[error(
        "no API key: set CONFORM_API_KEY, --api-key KEY or --api-key-file FILE, or the variable that api_key_env of conform.toml names"
    )]
    NoKey,
    /// A key without a target would be ignored by the embedded server.
    #[error("a key needs --base-url URL or --image NAME: the embedded server has its own key")]
    KeyWithoutTarget,
    /// The second key is equal to the first one.
    #[error("--quota-key is the same key as --api-key: leave it out, or issue a second key")]
    OneKey,
    /// An address is not valid: that of the option that the message begins with, or the base URL.
    #[error("{0}{1}")]
    Address(&'static str, UnusableOptions),
    /// Replicas are named without a base URL. Those of a server that is started for the run are not known before.
    #[error("--replica needs --base-url URL: it names an additional address of the service")]
    ReplicaWithoutTarget,
    /// A socket is named without a base URL, which gives the path of the API.
    #[error(
        "--unix-socket needs --base-url URL, which names the host and the path of the API, such as http://localhost/v1"
    )]
    SocketWithoutTarget,
    /// The report of an earlier run cannot be used.
    #[error("cannot rerun {path}: {problem}")]
    Rerun { path: String, problem: String },
    /// No requirement is selected.
    #[error("no requirement is selected by --only, --skip, --profile and --side together")]
    NothingSelected,
    /// The configuration file, or the list of known failures, is not valid.
    #[error("{path}, {source}")]
    Toml { path: String, source: TomlError },
    /// The configuration file cannot be read.
    #[error("cannot read the configuration file {path}: {}{}", of_file(.source), hint(.path, .source))]
    Configuration { path: String, source: std::io::Error },
    /// An environment is selected, and there is no configuration file.
    #[error(
        "--env {0} needs a configuration file, and there is no conform.toml in this directory or its parents within the \
         repository. Name one with --config PATH, or write one with `conform init`"
    )]
    NoFile(String),
    /// The configuration file does not define this environment.
    #[error("{path} has no environment {name}{}", choice(.name, .known))]
    UnknownEnvironment { path: String, name: String, known: Vec<String> },
    /// Neither the environment nor another source names a target.
    #[error(
        "the environment {name} of {path} has no base_url: add base_url = \"https://…/v1\" to [environments.{name}]"
    )]
    NoBaseUrl { path: String, name: String },
    /// The report of an earlier run is about a container image, which the report must not start.
    #[error("the report is about the image {0}: name the server with --image or --base-url")]
    ReportedImage(String),
    /// The configuration file has environments, and none is selected.
    #[error(
        "no environment of {path} is selected. Select one with --env: {}; or ignore the file with --no-config",
        .known.join(", ")
    )]
    WhichEnvironment { path: String, known: Vec<String> },
    /// The value of an environment variable is not a text.
    #[error("environment variable {0}: the value is not valid UTF-8")]
    Variable(String),
    /// A variable that a member of the configuration file names for a key is not set.
    #[error("{place}: {member} names the environment variable {variable}, which is not set: set it to the key")]
    KeyVariable { place: String, member: String, variable: String },
    /// Two mutually exclusive options are set by one source.
    #[error("{one} and {other} are mutually exclusive ({origin}): set only one of them")]
    Exclusive { one: &'static str, other: &'static str, origin: String },
    /// No requirement has this ID or ID prefix.
    #[error("no requirement has the ID or ID prefix `{0}`{hint}", hint = catalogue().did_you_mean(.0))]
    NoRequirement(String),
    /// A file exists that must not be overwritten.
    #[error("{0} already exists: name another file, or overwrite it with --force")]
    Exists(String),
    /// A file cannot be read or written, as the verb says.
    #[error("cannot {what} {path}: {}", of_file(.source))]
    File { what: &'static str, path: String, source: std::io::Error },
}

impl UsageError {
    /// A function for `map_err`, for a file that an option names and that cannot be read.
    pub(super) fn of_option(option: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> UsageError {
        move |source| UsageError::OptionFile { option, path: path.display().to_string(), source }
    }

    /// A function for `map_err`, for a file that cannot be read or written.
    pub(super) fn of_file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> UsageError {
        move |source| UsageError::File { what, path: path.display().to_string(), source }
    }
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
    format!("{} (defined: {})", did_you_mean(name, known.iter().map(String::as_str)), known.join(", "))
}

/// The known name that was probably meant, as the end of a sentence, if any is similar.
pub(super) fn did_you_mean<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> String {
    nearest(typed, names, 0.8).map_or_else(String::new, |meant| format!(": did you mean {meant}?"))
}
