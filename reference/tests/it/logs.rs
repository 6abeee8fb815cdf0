//! What is logged, and what never is.

use crate::support::{Folder, Server, ask};

#[test]
fn a_key_is_never_logged_wherever_a_client_puts_it() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--log", "debug"]);
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    assert_eq!(server.ask("GET", &format!("/v1/pets?key={key}"), &key).status, 200);
    assert_eq!(server.ask("GET", &format!("/v1/pets/{key}"), &key).status, 404);
    assert_eq!(server.ask("GET", &format!("/{key}"), &key).status, 404);
    assert_eq!(server.ask(&key, "/v1/pets", &key).status, 405);
    assert_eq!(server.post(&key, &format!("{{\"name\":\"{key}\",\"categoryId\":\"{key}\"}}")).status, 400);
    assert_eq!(ask(&server.address, "POST", "/v1/pets", &key, Some((&key, key.as_bytes()))).status, 415);
    let log = server.stop();
    assert!(!log.contains(&key) && !log.contains(&key[8..]), "{log}");
    for expected in ["/pets/{petId}", "404", "405", "unknown", "other"] {
        assert!(log.contains(expected), "{expected} is missing from {log}");
    }
}

#[test]
fn a_request_is_found_in_the_log_by_the_number_in_its_answer() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--log", "debug"]);
    server.ask("GET", "/healthz", "");
    let number = server.ask("GET", "/v1/nothing", &key).number("x-request-id");
    let log = server.stop();
    let line = log.lines().find(|line| line.contains(&format!("request={number} "))).expect("its line");
    assert!(line.contains("status=404") && line.contains("method=\"GET\""), "{line}");
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let server = Server::spawn_logging_to(folder.command(&[]), full);
    let other = rusqlite::Connection::open(folder.db()).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    // The thread that writes the database logs this.
    server.post(&key, r#"{"name":"x","categoryId":1}"#).assert_error(503);
    other.execute_batch("ROLLBACK").expect("released");
    assert_eq!(server.post(&key, r#"{"name":"x","categoryId":1}"#).status, 201);
    server.stop();
}
