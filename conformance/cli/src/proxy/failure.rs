//! The reasons why the server behind the proxy gave no response.

use animal_store_conformance::http::errors;
use animal_store_rules::trace::exchange::{Failure, FailureKind};

/// The host has no address.
pub(super) fn unresolved() -> Failure {
    Failure { kind: FailureKind::Unresolved, detail: "the host name does not resolve".to_owned() }
}

/// The reason why there is no connection.
pub(super) fn failed(error: &std::io::Error) -> Failure {
    let (kind, detail) = errors::of(error);
    Failure { kind: kind.unwrap_or(FailureKind::Connect), detail }
}

/// The reason why a request got no response on a connection.
pub(super) fn broken(error: &hyper::Error) -> Failure {
    let (kind, detail) = errors::of(error);
    Failure { kind: kind.unwrap_or(FailureKind::Broken), detail }
}
