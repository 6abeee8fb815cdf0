//! TLS to the target, for the requests of the judge and of the recording proxy.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableTls {
    /// The CA file contains no usable certificate.
    #[error(
        "--ca-cert: the file contains no valid PEM certificate\n  A PEM file begins with -----BEGIN CERTIFICATE-----. Nothing was sent."
    )]
    Authorities,
    /// The file of the client certificate is not complete.
    #[error(
        "--client-cert: the file does not contain a PEM certificate and its private key\n  Join both in one file, such as with `cat tls.crt tls.key > client.pem`. Nothing was sent."
    )]
    Client,
    /// The client certificate and its key do not belong together, or TLS cannot be set up.
    #[error("cannot set up TLS: {0}. Nothing was sent.")]
    Setup(#[from] Error),
}

/// The configuration that trusts the CA certificates of the system, or the bundled ones if the system has none, and further certificates
/// in PEM. `client` is empty, or a certificate chain of the client with its private key in PEM.
///
/// # Errors
///
/// [`UnusableTls`], if a PEM text has no certificate, or the client certificate and its key do not fit.
pub fn configuration(ca_certificates: &[u8], client: &[u8]) -> Result<ClientConfig, UnusableTls> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let named = certificates(ca_certificates).ok_or(UnusableTls::Authorities)?;
    if named.is_empty() && !ca_certificates.is_empty() {
        return Err(UnusableTls::Authorities);
    }
    let extra = named.iter().cloned();
    let by_authority: Arc<dyn ServerCertVerifier> =
        match rustls_platform_verifier::Verifier::new_with_extra_roots(extra, Arc::clone(&provider)) {
            Ok(of_system) => Arc::new(of_system),
            // A container image that contains nothing but this program has no CA certificates.
            Err(_) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().chain(&named).cloned());
                let bundled = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                bundled.build().map_err(|error| Error::General(error.to_string()))?
            }
        };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { by_authority, named }));
    let mut configuration = if client.is_empty() {
        builder.with_no_client_auth()
    } else {
        let chain = certificates(client).filter(|chain| !chain.is_empty()).ok_or(UnusableTls::Client)?;
        let key = PrivateKeyDer::from_pem_slice(client).map_err(|_| UnusableTls::Client)?;
        builder.with_client_auth_cert(chain, key)?
    };
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

/// The certificates in a PEM file; other blocks, such as private keys, are ignored.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()
}

/// A verifier that trusts the certificates of an authority, and each named certificate itself.
#[derive(Debug)]
struct Verifier {
    by_authority: Arc<dyn ServerCertVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.by_authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The period of this certificate was checked before the issuer; its name was not checked yet.
            Err(error) if is_about_issuer(&error) && self.named.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

/// Returns true if a certificate is rejected for its issuer: an unknown one, or itself, as `openssl req -x509` makes certificates.
pub(super) fn is_about_issuer(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => false,
    }
}
