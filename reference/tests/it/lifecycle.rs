//! Starting, stopping, and temporary databases.

use std::io::Write;

use crate::support::{Answer, Folder, Server, Stream, connect, eventually, head};

#[test]
fn a_request_in_flight_finishes_when_the_server_stops() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let key = folder.issue(&["free"]);
        let server = folder.serve(&[]);
        let body = br#"{"name":"in flight","categoryId":1}"#;
        let mut stream = connect(&server.address);
        stream.write_all(head("POST", "/v1/pets", &key, Some(("application/json", body))).as_bytes()).expect("sent");
        stream.write_all(&body[..10]).expect("sent");
        // Its request was counted, so it is being handled.
        eventually("the request is in flight", || {
            let remaining = server.ask("GET", "/v1/store/orders", &key).number("x-ratelimit-remaining");
            (remaining < 59).then_some(())
        });
        let _idle = connect(&server.address);
        server.signal(signal);
        eventually("nobody is accepted any more", || Stream::connect(&server.address).is_err().then_some(()));
        stream.write_all(&body[10..]).expect("sent");
        let answer = Answer::read(&mut stream);
        assert_eq!(answer.status, 201, "{answer:?}");
        let (status, log) = server.wait();
        assert!(status.success() && log.contains("stopped"), "{status}: {log}");
        let id = answer.json()["id"].as_i64().expect("an id");
        assert_eq!(folder.serve(&[]).ask("GET", &format!("/v1/pets/{id}"), &key).body, answer.body);
    }
}

#[test]
fn a_client_that_never_finishes_does_not_keep_the_server_from_stopping() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--grace", "0.2"]);
    let mut stream = connect(&server.address);
    stream.write_all(head("POST", "/v1/pets", &key, Some(("application/json", b"{}{}"))).as_bytes()).expect("sent");
    eventually("the request is in flight", || {
        (server.ask("GET", "/v1/store/orders", &key).number("x-ratelimit-remaining") < 59).then_some(())
    });
    server.stop();
}

#[test]
fn a_temporary_database_works_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.env("TMPDIR", folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--db", ":memory:", "--dev"]);
    let server = Server::spawn(command);
    let line = server.notice.iter().find(|line| line.starts_with("free")).expect("a key");
    let key = line.split_whitespace().last().expect("a key").to_owned();
    let added = server.post(&key, r#"{"name":"brief","categoryId":1}"#);
    assert_eq!(added.status, 201);
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, format!("[{}]", added.body));
    server.stop();
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_killed_server_for_development_leaves_nothing_behind() {
    let (folder, temporary) = (Folder::new(), Folder::new());
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.env("TMPDIR", temporary.path()).env_remove("ANIMAL_STORE_DB");
    command.args(["serve", "--dev", "--listen", &folder.socket()]);
    Server::spawn(command).kill();
    assert_eq!(std::fs::read_dir(temporary.path()).expect("a folder").count(), 0);
}

#[test]
fn a_temporary_database_without_dev_says_how_to_get_keys() {
    let server = Server::start(&["--db", ":memory:"]);
    assert!(server.notice.iter().any(|line| line.contains("--dev")), "{:?}", server.notice);
}

/// Sends the head of a request that adds an animal, and waits until the server handles it.
fn begin_request(server: &Server, key: &str) -> Stream {
    let mut stream = connect(&server.address);
    stream.write_all(head("POST", "/v1/pets", key, Some(("application/json", b"{}{}"))).as_bytes()).expect("sent");
    eventually("the request is in flight", || {
        (server.ask("GET", "/v1/store/orders", key).number("x-ratelimit-remaining") < 59).then_some(())
    });
    stream
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--grace", "3600", "--request-timeout", "3600"]);
    let _stream = begin_request(&server, &key);
    server.signal("TERM");
    eventually("nobody is accepted any more", || Stream::connect(&server.address).is_err().then_some(()));
    server.signal("TERM");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(4), "{log}");
    assert!(log.contains("ended at once on a second signal"), "{log}");
}

#[test]
fn storage_that_does_not_finish_does_not_keep_the_server_from_stopping() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--grace", "0.2"]);
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    // Another process keeps the database, so that what the key has used cannot be written down.
    let holder = rusqlite::Connection::open(folder.db()).expect("a connection");
    eventually("the database is free", || holder.execute_batch("BEGIN IMMEDIATE").ok());
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    server.signal("TERM");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(4), "{log}");
    assert!(log.contains("the storage did not finish within the grace period"), "{log}");
}

#[test]
fn the_end_of_a_terminal_is_not_the_end_of_the_server() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[]);
    server.signal("HUP");
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    assert!(server.stop().contains("SIGHUP is ignored"));
}

#[test]
fn fewer_files_than_connections_mean_fewer_connections_and_a_warning() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let limited = |files: usize| {
        let mut command = std::process::Command::new("sh");
        let options = "--max-connections 10 --header-timeout 0.5";
        let script = format!("ulimit -n {files}; exec \"$0\" serve --listen 127.0.0.1:0 --db \"$1\" {options}");
        command.args(["-c", &script, crate::PROGRAM, &folder.db_text()]);
        command
    };
    // With 20, not even the database could be opened.
    let output = limited(20).output().expect("sh runs");
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(3) && message.contains("leaves none for connections"), "{message}");
    let enough: usize = message.trim().rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a number");

    let server = Server::spawn(limited(enough - 4));
    assert!(server.open_files() <= enough - 10, "files that are not connections: {}", server.open_files());
    let _idle: Vec<_> = (0..20).map(|_| connect(&server.address)).collect();
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200, "the idle ones are closed");
    let log = server.stop();
    assert!(log.contains("files (ulimit -n), too few") && log.contains("serves 6 connections"), "{log}");
    assert!(!log.contains("cannot be accepted"), "{log}");
}

#[test]
fn a_process_that_runs_out_of_files_warns_once_and_accepts_again_when_it_has_some() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&["--header-timeout", "0.5"]);
    server.limit_files(server.open_files() + 4);
    let _idle: Vec<_> = (0..12).map(|_| connect(&server.address)).collect();
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200, "the idle ones are closed");
    let log = server.stop();
    assert_eq!(log.matches("a connection cannot be accepted").count(), 1, "{log}");
    assert!(log.contains("ulimit -n"), "{log}");
}
