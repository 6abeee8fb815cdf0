//! Servers that are reached with TLS: whose certificates are accepted, and what is said of those that are not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::command_line::{conform, text};

/// What the program says once TLS is agreed on: the server knows no key.
const REACHED: &str = "the key was rejected with 401";

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A certificate that signed itself and may sign others, as `openssl req -x509` makes them.
fn self_signed(names: &[&str]) -> Issuer {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

fn key(of: &Issuer) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(of.key().serialize_der()).into()
}

/// A certificate for this machine, and the server that shows it.
struct Server {
    certificate: Issuer,
    folder: TempDir,
    base_url: String,
}

impl Server {
    /// Starts a server that is called by these names and answers 401. It demands a client certificate of `clients`.
    async fn start(names: &[&str], protocol: &str, clients: Option<&Issuer>) -> Server {
        let certificate = self_signed(names);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.der().clone()).expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.expect("a verifier"))
            }
        };
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        let mut settings = builder.with_single_cert(chain, key(&certificate)).expect("a server");
        settings.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(answer(listener, TlsAcceptor::from(Arc::new(settings))));
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("server.pem"), certificate.pem()).expect("a file");
        Server { certificate, folder, base_url: format!("https://localhost:{port}/v1") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the program says to these further options.
    async fn said(&self, options: &[(&str, &Path)]) -> String {
        let mut args = vec!["--base-url", &self.base_url, "--api-key", "another"];
        for (option, path) in options {
            args.extend([*option, path.to_str().expect("a path")]);
        }
        let output = conform(&args).await;
        text(&output.stderr)
    }
}

async fn answer(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        match acceptor.accept(stream).into_fallible().await {
            Ok(mut stream) => {
                let _request = stream.read(&mut [0; 4096]).await;
                let answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _gone = stream.write_all(answer).await;
                let _gone = stream.shutdown().await;
            }
            Err((_, mut stream)) => {
                // Closed with unread bytes, the connection would be reset and the alert lost.
                let _gone = stream.shutdown().await;
                let _gone = stream.read_to_end(&mut Vec::new()).await;
            }
        }
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_accepted_when_it_is_named_itself() {
    let server = Server::start(&["localhost"], "http/1.1", None).await;
    let said = server.said(&[("--ca-cert", &server.path("server.pem"))]).await;
    assert!(said.contains(REACHED), "{said}");
    let said = server.said(&[]).await;
    assert!(said.contains("is self-signed, or its issuer is not trusted"), "{said}");
}

#[tokio::test]
async fn a_self_signed_certificate_for_another_name_or_with_another_key_is_not_accepted() {
    let server = Server::start(&["api.example.com"], "http/1.1", None).await;
    let said = server.said(&[("--ca-cert", &server.path("server.pem"))]).await;
    assert!(said.contains("the certificate is not valid for this host name"), "{said}");
    let server = Server::start(&["localhost"], "http/1.1", None).await;
    std::fs::write(server.path("other.pem"), self_signed(&["localhost"]).pem()).expect("a file");
    let said = server.said(&[("--ca-cert", &server.path("other.pem"))]).await;
    assert!(said.contains("TLS handshake with") && !said.contains(REACHED), "{said}");
}

#[tokio::test]
async fn a_server_that_demands_a_client_certificate_gets_the_one_that_is_named() {
    let (clients, strangers) = (self_signed(&["clients"]), self_signed(&["strangers"]));
    let server = Server::start(&["localhost"], "http/1.1", Some(&clients)).await;
    let issued = |issuer: &Issuer| {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["judge".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, issuer).expect("a certificate");
        format!("{}{}", certificate.pem(), key.serialize_pem())
    };
    for (name, content) in [
        ("own.pem", issued(&clients)),
        ("strange.pem", issued(&strangers)),
        ("incomplete.pem", server.certificate.pem()),
    ] {
        std::fs::write(server.path(name), content).expect("a file");
    }
    let authority = ("--ca-cert", &*server.path("server.pem"));
    for (client, expected) in [
        (None, "the server demands a client certificate\n  Name a PEM file"),
        (Some("own.pem"), REACHED),
        (Some("strange.pem"), "the server does not accept the client certificate"),
        (Some("incomplete.pem"), "does not contain a PEM certificate and its private key"),
        (Some("missing.pem"), "--client-cert"),
    ] {
        let path = client.map(|name| server.path(name));
        let client = path.iter().map(|path| ("--client-cert", path.as_path()));
        let said = server.said(&std::iter::once(authority).chain(client).collect::<Vec<_>>()).await;
        assert!(said.contains(expected), "{path:?}: {said}");
    }
}

#[tokio::test]
async fn a_server_that_offers_only_http_2_is_told_from_one_that_is_broken() {
    let server = Server::start(&["localhost"], "h2", None).await;
    let said = server.said(&[("--ca-cert", &server.path("server.pem"))]).await;
    assert!(said.contains("does not offer HTTP/1.1") && said.contains("by ALPN"), "{said}");
}
