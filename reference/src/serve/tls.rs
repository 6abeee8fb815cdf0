//! HTTPS: a certificate from files, or one that is generated at start.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{error::Error, net::IpAddr, sync::Arc};

use clap::Args;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, pki_types::pem::PemObject};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

use crate::store::{OpenError, OpenErrorKind};

/// The number of days for which a certificate made at start is valid, from the day on which it is made.
const VALID_FOR_DAYS: u32 = 397;

const DAY: Duration = Duration::from_hours(24);

/// The encryption of connections, without which the server speaks HTTP.
#[derive(Clone, Debug, Default, Args)]
#[allow(clippy::struct_field_names, reason = "they are the names of the options")]
pub struct Tls {
    /// Serve HTTPS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "HTTPS")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "HTTPS")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Serve HTTPS with a certificate made at start, and print where its authority is
    #[arg(long, conflicts_with = "tls_cert", help_heading = "HTTPS")]
    pub(crate) tls_self_signed: bool,
}

/// Makes an acceptor of the certificate chain and the key in two PEM files.
///
/// # Errors
///
/// [`OpenError`] when they cannot be read or do not belong together.
pub(super) fn from_files(certificate: &Path, key: &Path) -> Result<TlsAcceptor, OpenError> {
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(OpenErrorKind::https(certificate))?;
    acceptor(chain, PrivateKeyDer::from_pem_file(key).map_err(OpenErrorKind::https(key))?)
        .map_err(OpenErrorKind::https(certificate))
}

/// Makes an authority, and a certificate of it for `localhost`, the loopback addresses and `address`. The authority's certificate is
/// written to `authority`, for clients to trust; the authority's key is forgotten at once.
///
/// # Errors
///
/// [`OpenError`] when the file cannot be written.
pub fn self_signed(address: Option<IpAddr>, authority: &Path) -> Result<TlsAcceptor, OpenError> {
    let make = || -> Result<_, Box<dyn Error>> {
        let mut params = short_lived(Vec::new(), "Animal Store throw-away authority")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let mut params = short_lived(names(address), "Animal Store")?;
        // Strict clients, such as Python from 3.13 on, refuse a certificate without these (RFC 5280 section 4.2.1).
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        write_anew(authority, &issuer.pem(), rustix::process::getuid().as_raw())?;
        Ok(acceptor(vec![certificate.into()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())?)
    };
    make().map_err(OpenErrorKind::https(authority))
}

/// Writes a file for this user alone in place of one that the user owns. A link in its place is replaced, not followed.
fn write_anew(path: &Path, text: &str, user: u32) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|file| file.uid() != user) {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the file belongs to another user"));
    }
    let folder = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// The parameters of a certificate that is valid from yesterday, for clients whose clock is a little behind, for somewhat over a
/// year, because some clients refuse a longer time. `--now` has no effect on it: clients go by their own clock.
fn short_lived(names: Vec<String>, common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let now = date_time_ymd(1970, 1, 1) + SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    params.not_before = now - DAY;
    params.not_after = now + VALID_FOR_DAYS * DAY;
    Ok(params)
}

/// The names in the certificate of a server that listens at an address.
fn names(address: Option<IpAddr>) -> Vec<String> {
    let other = address.filter(|ip| !ip.is_loopback() && !ip.is_unspecified()).map(|ip| ip.to_string());
    ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(other).collect()
}

fn acceptor(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<TlsAcceptor, rustls::Error> {
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
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn a_link_in_place_of_the_file_is_replaced_and_a_file_of_another_user_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, target) = (folder.path().join("a.ca.pem"), folder.path().join("precious"));
        fs::write(&target, "mine").expect("a file");
        std::os::unix::fs::symlink(&target, &path).expect("a link");
        let user = fs::metadata(&target).expect("a file").uid();
        write_anew(&path, "PEM", user).expect("written");
        assert_eq!(fs::read_to_string(&target).expect("the file"), "mine");
        let file = fs::symlink_metadata(&path).expect("a file");
        assert_eq!((file.is_file(), file.permissions().mode() & 0o777), (true, 0o600));
        let refused = write_anew(&path, "PEM of another user", user + 1).expect_err("it is not theirs");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&path).expect("the file"), "PEM");
    }
}
