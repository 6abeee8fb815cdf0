//! Slow, silent and careless clients.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use crate::crowd::add_long;
use crate::support::{Answer, Folder, PATIENCE, connect, head};

#[test]
fn a_body_that_does_not_arrive_is_a_408() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&["--request-timeout", "0.2"]);
    let mut stream = connect(&server.address);
    let body = br#"{"name":"x","categoryId":1}"#;
    stream.write_all(head("POST", "/v1/pets", &key, Some(("application/json", body))).as_bytes()).expect("sent");
    stream.write_all(&body[..5]).expect("sent");
    Answer::read(&mut stream).assert_error(408);
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, "[]");
}

#[test]
fn a_silent_or_half_sent_head_ends_the_connection() {
    let folder = Folder::new();
    let server = folder.serve_tcp(&["--header-timeout", "0.2"]);
    for sent in ["", "GET /v1/pets HT"] {
        let mut stream = connect(&server.address);
        stream.write_all(sent.as_bytes()).expect("sent");
        let mut rest = Vec::new();
        // It may be closed or reset; what matters is that the server ends it, before the test loses patience, and with nothing said.
        let reset = stream.read_to_end(&mut rest).err().map(|error| error.kind());
        assert!(
            rest.is_empty() && reset.is_none_or(|kind| kind == ErrorKind::ConnectionReset),
            "{sent}: {reset:?} {rest:?}"
        );
    }
}

#[test]
fn a_connection_carries_one_request_after_another() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let mut stream = connect(&server.address);
    let one = head("GET", "/v1/store/orders", &key, None);
    let kept = one.replace("Connection: close\r\n", "");
    // Two at once, and the last one closes.
    stream.write_all(format!("{kept}{kept}{one}").as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answers");
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3, "{text}");
    assert!(text.contains("x-ratelimit-remaining: 57"), "{text}");
}

#[test]
fn connections_beyond_the_limit_wait_while_all_are_at_work() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&["--max-connections", "1"]);
    let body = br#"{"name":"x","categoryId":1}"#;
    let mut first = connect(&server.address);
    first.write_all(head("POST", "/v1/pets", &key, Some(("application/json", body))).as_bytes()).expect("sent");
    let mut second = connect(&server.address);
    second.write_all(head("GET", "/v1/pets", &key, None).as_bytes()).expect("sent");
    // Whether the server leaves it alone shows only with time.
    second.set_patience(Duration::from_millis(300));
    let early = second.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "it is not served yet");
    second.set_patience(PATIENCE);
    first.write_all(body).expect("sent");
    let added = Answer::read(&mut first);
    assert_eq!(added.status, 201);
    assert_eq!(Answer::read(&mut second).body, format!("[{}]", added.body), "it is served after the first");
}

#[test]
fn a_body_in_chunks_is_read_and_bounded_like_any_other() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let send = |chunks: &str| {
        let mut stream = connect(&server.address);
        let head = head("POST", "/v1/pets", &key, None);
        let head = head.trim_end_matches("\r\n");
        let framing = "Content-Type: application/json\r\nTransfer-Encoding: chunked";
        let _ = stream.write_all(format!("{head}\r\n{framing}\r\n\r\n{chunks}").as_bytes());
        Answer::read(&mut stream)
    };
    assert_eq!(send("5\r\n{\"nam\r\n16\r\ne\":\"x\",\"categoryId\":1}\r\n0\r\n\r\n").status, 201);
    send(&format!("{:x}\r\n{}\r\n0\r\n\r\n", 70_000, " ".repeat(70_000))).assert_error(413);
    send("zz\r\n").assert_error(400);
}

#[test]
fn a_client_that_takes_nothing_of_a_long_response_is_cut_off() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve_tcp(&["--header-timeout", "1", "--max-connections", "1"]);
    add_long(&server, &key);
    let mut stream = connect(&server.address);
    // More than the sockets of both sides hold.
    let request = head("GET", "/v1/pets?limit=100", &key, None).replace("Connection: close\r\n", "");
    stream.write_all(request.repeat(8).as_bytes()).expect("sent");
    // The only place becomes free although the client goes on holding its end.
    assert_eq!(server.ask("GET", "/v1/store/orders", &key).status, 200);
    drop(stream);
}
