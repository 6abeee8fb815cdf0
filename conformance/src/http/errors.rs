//! Errors of the network and of files in words that say what happened, not how the system numbers it.

use std::error::Error;
use std::io::{self, ErrorKind};

use animal_store_rules::trace::exchange::FailureKind;

/// What kind of failure this is, and words for it. The words never repeat the address, which may hold a key.
pub(crate) fn of(error: &(dyn Error + 'static)) -> (Option<FailureKind>, String) {
    let mut chain = vec![error];
    while let Some(next) = chain[chain.len() - 1].source() {
        chain.push(next);
    }
    let innermost = chain[chain.len() - 1].to_string();
    if chain.iter().any(|cause| cause.to_string() == "dns error") {
        return (Some(FailureKind::Unresolved), "its name does not resolve".to_owned());
    }
    let system = chain.iter().rev().find_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(told) = chain.iter().find_map(|cause| tls_error(*cause)) {
        return told;
    }
    let words = match system.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => "the connection was refused: nothing listens there".to_owned(),
        Some(ErrorKind::ConnectionReset) => "the connection was reset".to_owned(),
        Some(ErrorKind::TimedOut) => "no connection in time".to_owned(),
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => "there is no way to that host".to_owned(),
        _ if innermost.contains("://") => "the request could not be sent".to_owned(),
        _ if innermost == "invalid HTTP version parsed" => "what came is no HTTP".to_owned(),
        _ => without_number(&innermost),
    };
    // A handshake that breaks off is told by the system's kinds alone.
    let tls = innermost.to_ascii_lowercase().contains("tls handshake");
    (tls.then_some(FailureKind::Tls), words)
}

/// What TLS has to say about it.
fn tls_error(cause: &(dyn Error + 'static)) -> Option<(Option<FailureKind>, String)> {
    use rustls::{CertificateError, Error, InvalidMessage};
    let error = rustls_error(cause)?;
    Some(match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            (Some(FailureKind::NotTls), "what answers is no TLS; it seems to speak plain HTTP".to_owned())
        }
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => (
            Some(FailureKind::Untrusted),
            "its certificate is self-signed, or from an authority that is not trusted here".to_owned(),
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => (Some(FailureKind::Tls), "its certificate is for another name".to_owned()),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            (Some(FailureKind::Tls), "its certificate has expired".to_owned())
        }
        other => (Some(FailureKind::Tls), other.to_string()),
    })
}

/// The error of TLS that travels inside of an I/O error, or of one inside of another.
fn rustls_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let mut error = cause;
    loop {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        error = error.downcast_ref::<io::Error>()?.get_ref()?;
    }
}

/// Why a file cannot be read.
pub(crate) fn of_file(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "you may not read it".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is no text in UTF-8".to_owned(),
        _ => without_number(&error.to_string()),
    }
}

/// The system's words without the number that it gives them.
fn without_number(text: &str) -> String {
    text.split(" (os error ").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_system_are_left_out() {
        assert_eq!(without_number("Broken pipe (os error 32)"), "Broken pipe");
        assert_eq!(of_file(&io::Error::from(ErrorKind::NotFound)), "there is no such file");
        let (kind, words) = of(&io::Error::from(ErrorKind::ConnectionRefused));
        assert_eq!((kind, words.as_str()), (None, "the connection was refused: nothing listens there"));
    }

    #[test]
    fn an_address_is_not_repeated() {
        assert_eq!(of(&io::Error::other("no way to http://h/?key=sk-1")).1, "the request could not be sent");
    }
}
