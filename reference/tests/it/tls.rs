//! HTTPS.

use std::io::Write;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{Answer, Folder, connect, head, reference};

fn trusting(authority: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).expect("a certificate")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(builder.expect("versions").with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn a_self_signed_server_is_trusted_through_the_authority_it_prints() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--tls-self-signed"]);
    let line = server.notice.iter().find_map(|line| line.strip_prefix("trust this authority: "));
    let config = trusting(line.expect("the path of the authority"));
    for name in ["localhost", "127.0.0.1"] {
        let name = ServerName::try_from(name).expect("a name").to_owned();
        let session = ClientConnection::new(Arc::clone(&config), name).expect("a session");
        let mut stream = StreamOwned::new(session, connect(server.address));
        stream.write_all(head("GET", "/v1/pets", &key, None).as_bytes()).expect("sent");
        let answer = Answer::read(&mut stream);
        assert_eq!((answer.status, answer.body.as_str()), (200, "[]"));
    }
    let name = ServerName::try_from("example.org").expect("a name");
    let session = ClientConnection::new(config, name).expect("a session");
    let mut stream = StreamOwned::new(session, connect(server.address));
    assert!(stream.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err(), "the certificate is for other names");
    server.stop();
}

#[test]
fn unusable_certificates_are_named() {
    let folder = Folder::new();
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "").expect("a file");
    let path = path.to_str().expect("UTF-8");
    let output = reference(&["serve", "--db", &folder.db_text(), "--tls-cert", path, "--tls-key", path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains(path), "{output:?}");
}
