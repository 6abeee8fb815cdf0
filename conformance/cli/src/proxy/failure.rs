//! Why the server behind the proxy gave no response.

use animal_store_conformance::http::errors;
use animal_store_rules::trace::exchange::{Failure, FailureKind};

/// The host has no address.
pub(super) fn unresolved() -> Failure {
    Failure { kind: FailureKind::Unresolved, detail: "the host name does not resolve".to_owned() }
}

/// Why there is no connection.
pub(super) fn failed(error: &std::io::Error) -> Failure {
    let (kind, detail) = errors::of(error);
    Failure { kind: kind.unwrap_or(FailureKind::Connect), detail }
}

/// Why a request got no answer on a connection.
pub(super) fn broken(error: &hyper::Error) -> Failure {
    let (kind, detail) = errors::of(error);
    Failure { kind: kind.unwrap_or(FailureKind::Broken), detail }
}
