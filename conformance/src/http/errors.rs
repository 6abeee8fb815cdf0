//! Messages for network and file errors, without the error numbers of the system.

use std::error::Error;
use std::io::{self, ErrorKind};

use super::tls::is_about_issuer;
use animal_store_rules::trace::exchange::FailureKind;

/// An error with its sources, the outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The kind of a failure, and a message. The message never contains the URL, which may hold a key.
pub fn of(error: &(dyn Error + 'static)) -> (Option<FailureKind>, String) {
    if causes(error).any(|cause| cause.to_string() == "dns error") {
        return (Some(FailureKind::Unresolved), "the host name does not resolve".to_owned());
    }
    if let Some(error) = causes(error).find_map(rustls_error) {
        let (kind, message) = tls_failure(error);
        return (Some(kind), message);
    }
    let innermost = causes(error).last().unwrap_or(error).to_string();
    let system = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).last();
    let message = match system.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        Some(ErrorKind::TimedOut) => "connection timed out".to_owned(),
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => "host unreachable".to_owned(),
        _ if innermost.contains("://") => "the request could not be sent".to_owned(),
        _ if innermost == "invalid HTTP version parsed" => "the response is not valid HTTP".to_owned(),
        _ => without_number(&innermost),
    };
    // A handshake that is aborted has an I/O error without a TLS error.
    let tls = innermost.to_ascii_lowercase().contains("tls handshake");
    (tls.then_some(FailureKind::Tls), message)
}

/// How the other side ended the connection, if that is the cause of an error.
pub fn end_of_connection(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let system = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    let kinds: Vec<ErrorKind> = system.map(io::Error::kind).collect();
    if kinds.iter().any(|kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset)) {
        return Some(FailureKind::Reset);
    }
    let is_cut = |error: &hyper::Error| error.is_incomplete_message() || error.is_canceled();
    let is_cut = causes(error).filter_map(|cause| cause.downcast_ref()).any(is_cut);
    (is_cut || kinds.contains(&UnexpectedEof)).then_some(FailureKind::Closed)
}

/// Returns true if the chunk extensions of a body (RFC 9112 section 7.1.1) are longer than the client reads.
pub fn is_of_chunk_extensions(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| cause.to_string() == "chunk extensions over limit")
}

/// Returns true if the connection of a request ended before any of the request was sent.
pub fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled))
}

/// The kind and message of a TLS error.
fn tls_failure(error: &rustls::Error) -> (FailureKind, String) {
    use rustls::AlertDescription as Alert;
    use rustls::{CertificateError, Error, InvalidMessage};
    let (kind, message) = match error {
        Error::AlertReceived(Alert::CertificateRequired) => {
            (FailureKind::ClientCertificate, "the server demands a client certificate")
        }
        // A server rejects no other certificate than that of its client.
        Error::AlertReceived(
            alert @ (Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError),
        ) => {
            let message = format!("the server does not accept the client certificate, or demands one ({alert:?})");
            return (FailureKind::ClientCertificate, message);
        }
        Error::AlertReceived(Alert::HandshakeFailure) => (
            FailureKind::ClientCertificate,
            "the server ended the handshake: it has no TLS version and cipher suite in common, or demands a client certificate",
        ),
        Error::AlertReceived(Alert::NoApplicationProtocol) => {
            (FailureKind::NotHttp1, "the server does not offer HTTP/1.1, only other versions such as HTTP/2")
        }
        Error::InvalidCertificate(CertificateError::Other(other))
            if matches!(other.0.downcast_ref(), Some(webpki::Error::UnsupportedCertVersion)) =>
        {
            (
                FailureKind::Tls,
                "the certificate is of X.509 version 1, which has no subject alternative names: issue one of version 3",
            )
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            (FailureKind::NotTls, "the response is not TLS; the server seems to use plain HTTP")
        }
        error if is_about_issuer(error) => {
            (FailureKind::Untrusted, "the certificate is self-signed, or its issuer is not trusted")
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => (FailureKind::Tls, "the certificate is not valid for this host name"),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            (FailureKind::Tls, "the certificate has expired")
        }
        other => return (FailureKind::Tls, other.to_string()),
    };
    (kind, message.to_owned())
}

/// The TLS error inside an I/O error, at any depth.
fn rustls_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let mut error = cause;
    loop {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        error = error.downcast_ref::<io::Error>()?.get_ref()?;
    }
}

/// The reason why a file cannot be read or written, or why another call of the system failed.
pub fn of_file(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "is a directory".to_owned(),
        ErrorKind::InvalidData => "not valid UTF-8".to_owned(),
        _ => without_number(&error.to_string()),
    }
}

/// The message of the system without the error number.
fn without_number(text: &str) -> String {
    text.split(" (os error ").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_version_1_is_said_to_be_one() {
        let version = rustls::OtherError(std::sync::Arc::new(webpki::Error::UnsupportedCertVersion));
        let error = rustls::Error::InvalidCertificate(rustls::CertificateError::Other(version));
        assert!(of(&io::Error::other(error)).1.contains("X.509 version 1"));
    }

    #[test]
    fn a_url_is_not_repeated() {
        assert_eq!(of(&io::Error::other("no way to http://h/?key=sk-1")).1, "the request could not be sent");
    }
}
