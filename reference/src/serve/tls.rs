//! HTTPS: a certificate from files, or one that is generated at start.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// The number of days for which a certificate made at start is valid, from the day on which it is made.
const VALID_FOR_DAYS: i64 = 397;

/// The reason why HTTPS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read as PEM.
    #[error("cannot read {}: {detail}; it must hold PEM", .path.display())]
    Unreadable {
        /// The path of the certificate or the key.
        path: PathBuf,
        /// The defect of the file.
        detail: String,
    },
    /// The certificate and the key do not make a server.
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// The certificate of the authority could not be written.
    #[error("cannot write {}: {detail}", .path.display())]
    Unwritable {
        /// The path of the authority's certificate.
        path: PathBuf,
        /// The error of the system.
        detail: std::io::Error,
    },
}

/// Makes an acceptor of the certificate chain and the key in two PEM files.
///
/// # Errors
///
/// [`TlsError`] when they cannot be read or do not belong together.
pub fn from_files(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let unreadable = |path: &Path, detail: String| TlsError::Unreadable { path: path.to_owned(), detail };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "it holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error.to_string()))?;
    acceptor(chain, key)
}

/// Makes an authority, and a certificate of it for `localhost`, the loopback addresses and `address`. The authority's certificate is
/// written to `authority`, for clients to trust; the authority's key is forgotten at once.
///
/// # Errors
///
/// [`TlsError`] when the file cannot be written.
pub fn self_signed(address: Option<IpAddr>, authority: &Path) -> Result<TlsAcceptor, TlsError> {
    let mut params = short_lived(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "Animal Store throw-away authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

    let mut params = short_lived(names(address))?;
    params.distinguished_name.push(DnType::CommonName, "Animal Store");
    // Strict clients, such as Python from 3.13 on, refuse a certificate without these (RFC 5280 section 4.2.1).
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;

    fs::write(authority, issuer.pem()).map_err(|detail| TlsError::Unwritable { path: authority.to_owned(), detail })?;
    acceptor(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
}

/// The parameters of a certificate that is valid from yesterday, for clients whose clock is a little behind, for somewhat over a
/// year, because some clients refuse a longer time. `--now` has no effect on it: clients go by their own clock.
fn short_lived(names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let midnight = |date: jiff::civil::Date| {
        // Months and days are 1 to 31 in both libraries.
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = midnight(today.saturating_sub(1.day()));
    params.not_after = midnight(today.saturating_add(VALID_FOR_DAYS.days()));
    Ok(params)
}

/// Returns true if every user of this machine may read the file.
#[must_use]
pub fn is_world_readable(key: &Path) -> bool {
    fs::metadata(key).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

/// The names in the certificate of a server that listens at an address.
fn names(address: Option<IpAddr>) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(address.filter(|ip| !ip.is_loopback() && !ip.is_unspecified()).map(|ip| ip.to_string()));
    names
}

fn acceptor(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_this_machine_and_the_address_that_others_use() {
        let more = |address: &str| names(address.parse().ok())[3..].to_vec();
        assert_eq!(more("192.0.2.7"), ["192.0.2.7"]);
        assert_eq!(more("2001:db8::7"), ["2001:db8::7"]);
        for known in ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::"] {
            assert!(more(known).is_empty(), "{known}");
        }
    }
}
