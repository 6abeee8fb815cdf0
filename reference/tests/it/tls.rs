//! HTTPS.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{Answer, Folder, Server, connect, head, program};

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
        let mut stream = StreamOwned::new(session, connect(&server.address));
        stream.write_all(head("GET", "/v1/pets", &key, None).as_bytes()).expect("sent");
        let answer = Answer::read(&mut stream);
        assert_eq!((answer.status, answer.body.as_str()), (200, "[]"));
    }
    let name = ServerName::try_from("example.org").expect("a name");
    let session = ClientConnection::new(config, name).expect("a session");
    let mut stream = StreamOwned::new(session, connect(&server.address));
    assert!(stream.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err(), "the certificate is for other names");
    drop(stream);
    server.stop();
}

#[test]
fn the_authority_of_a_database_is_a_new_file_beside_it_and_not_behind_a_link() {
    let folder = Folder::new();
    let (path, target) = (folder.path().join("animals.ca.pem"), folder.path().join("precious"));
    std::fs::write(&target, "mine").expect("a file");
    std::os::unix::fs::symlink(&target, &path).expect("a link");
    let server = folder.serve(&["--tls-self-signed"]);
    assert!(server.notice.contains(&format!("trust this authority: {}", path.display())), "{:?}", server.notice);
    let file = std::fs::symlink_metadata(&path).expect("a file");
    assert_eq!((file.is_file(), file.permissions().mode() & 0o777), (true, 0o600));
    assert_eq!(std::fs::read_to_string(&target).expect("the file"), "mine");
}

#[test]
fn the_authority_of_a_temporary_database_is_where_nobody_else_can_put_a_link() {
    let folder = Folder::new();
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.env("TMPDIR", folder.path());
    command.args(["serve", "--db", ":memory:", "--listen", "127.0.0.1:0", "--tls-self-signed"]);
    let server = Server::spawn(command);
    let line = server.notice.iter().find_map(|line| line.strip_prefix("trust this authority: ")).expect("its path");
    let inside = std::path::Path::new(line).parent().expect("a folder");
    let mode = std::fs::metadata(inside).expect("the folder").permissions().mode();
    assert_eq!((inside.parent(), mode & 0o777), (Some(folder.path()), 0o700), "{line}");
    server.stop();
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

/// Returns true if one sequence of bytes holds another.
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_self_signed_certificate_satisfies_strict_clients() {
    let folder = Folder::new();
    let server = folder.serve(&["--tls-self-signed", "--now", "2031-01-01T00:00:00Z"]);
    let line = server.notice.iter().find_map(|line| line.strip_prefix("trust this authority: "));
    let config = trusting(line.expect("the path of the authority"));
    let session = ClientConnection::new(config, ServerName::try_from("localhost").expect("a name")).expect("a session");
    let mut stream = StreamOwned::new(session, connect(&server.address));
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let certificate = stream.conn.peer_certificates().expect("a chain")[0].to_vec();
    for (extension, encoded) in [
        ("authority key identifier", &[0x06, 0x03, 0x55, 0x1d, 0x23][..]),
        ("key usage", &[0x06, 0x03, 0x55, 0x1d, 0x0f]),
        ("server authentication", &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]),
    ] {
        assert!(holds(&certificate, encoded), "{extension}");
    }
    // Both ends of the validity are of the ASN.1 type UTCTime: YYMMDDhhmmssZ.
    let is_time = |bytes: &[u8]| {
        bytes.starts_with(&[0x17, 13]) && bytes[2..14].iter().all(u8::is_ascii_digit) && bytes[14] == b'Z'
    };
    let times: Vec<&[u8]> = certificate.windows(15).filter(|window| is_time(window)).collect();
    let [from, until] = times.as_slice() else { panic!("{} times before 2050", times.len()) };
    let day = |time: &[u8]| -> jiff::civil::Date {
        let digits = std::str::from_utf8(&time[2..8]).expect("digits");
        format!("20{}-{}-{}", &digits[..2], &digits[2..4], &digits[4..]).parse().expect("a date")
    };
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    assert!(day(from) < today && day(until) > today, "the clients' time counts, not --now");
    assert!((day(until) - day(from)).get_days() <= 398, "some clients refuse longer ones");
}

#[test]
fn a_client_that_is_silent_before_or_after_the_handshake_is_cut_off() {
    let folder = Folder::new();
    let server = folder.serve(&["--tls-self-signed", "--header-timeout", "0.2"]);
    let mut received = Vec::new();
    connect(&server.address).read_to_end(&mut received).expect("the end of the connection");
    let line = server.notice.iter().find_map(|line| line.strip_prefix("trust this authority: "));
    let config = trusting(line.expect("the path of the authority"));
    let session = ClientConnection::new(config, ServerName::try_from("localhost").expect("a name")).expect("a session");
    let mut stream = StreamOwned::new(session, connect(&server.address));
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).expect("a handshake");
    }
    let ended = stream.read_to_end(&mut received).err().map(|error| error.kind());
    assert!(received.is_empty() && ended.is_none_or(|kind| kind == ErrorKind::UnexpectedEof), "{ended:?} {received:?}");
}

#[test]
fn a_private_key_that_everybody_can_read_is_warned_about() {
    let folder = Folder::new();
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let [cert_path, key_path] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&cert_path, cert.pem()).expect("a file");
    std::fs::write(&key_path, signing_key.serialize_pem()).expect("a file");
    for (mode, warned) in [(0o644, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&key_path, std::fs::Permissions::from_mode(mode)).expect("permissions");
        let [cert, key] = [&cert_path, &key_path].map(|path| path.to_str().expect("UTF-8"));
        let log = folder.serve(&["--tls-cert", cert, "--tls-key", key]).stop();
        assert_eq!(log.contains("can read the private key"), warned, "{mode:o}: {log}");
    }
}

#[test]
fn unusable_certificates_are_named() {
    let folder = Folder::new();
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "").expect("a file");
    let path = path.to_str().expect("UTF-8");
    let output = program(&["serve", "--db", &folder.db_text(), "--tls-cert", path, "--tls-key", path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains(path), "{output:?}");
}
