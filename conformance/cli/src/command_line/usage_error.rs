//! Errors in the options of a command line.

use animal_store_conformance::UnusableOptions;
use animal_store_conformance::http::errors::of_file;
use animal_store_rules::toml_error::TomlError;

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
    /// The base URL is not valid.
    #[error(transparent)]
    BaseUrl(UnusableOptions),
    /// An address of a replica is not valid.
    #[error("--replica: {0}")]
    Replica(UnusableOptions),
    /// An address cannot be used for a host.
    #[error("--resolve: {0}")]
    Resolve(UnusableOptions),
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
    Rerun {
        path: String,
        /// The reason why it cannot be used.
        problem: String,
    },
    /// No requirement is selected.
    #[error("no requirement is selected by --only, --skip, --profile and --side together")]
    NothingSelected,
    /// A file of certificates cannot be read.
    #[error("{option} {path}: {}\n  Name a PEM file that exists. Nothing was sent.", of_file(.source))]
    Certificates { option: &'static str, path: String, source: std::io::Error },
    /// The list of known failures cannot be read.
    #[error("--known-failing {path}: {}\n  Name a TOML file with a [[known-failing]] table for each known failure. Nothing was sent.", of_file(.source))]
    KnownFailingFile { path: String, source: std::io::Error },
    /// The list of known failures is not valid.
    #[error("{path}, {source}")]
    KnownFailing { path: String, source: TomlError },
}
