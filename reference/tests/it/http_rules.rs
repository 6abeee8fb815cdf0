//! HTTP to the letter: what is refused, how a refusal looks, and how a connection goes on or ends.

use std::io::{Read, Write};

use crate::support::{Answer, Folder, Server, connect, head};

const ANIMAL: &str = r#"{"name":"Rex","categoryId":1}"#;

/// Everything that the server sends in return for these bytes, until it closes.
fn exchange(server: &Server, sent: &[u8]) -> String {
    let mut stream = connect(&server.address);
    // The server may refuse, and stop reading, before it has all of it.
    let _ = stream.write_all(sent);
    let mut received = String::new();
    let _ = stream.read_to_string(&mut received);
    received
}

/// The one response to these bytes; the server closes after it, and announces that.
fn last_answer(server: &Server, sent: &[u8]) -> Answer {
    let mut stream = connect(&server.address);
    let _ = stream.write_all(sent);
    let answer = Answer::read(&mut stream);
    assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
    answer
}

/// A request of a key that may be kept open, with further headers.
fn request(method: &str, key: &str, headers: &str) -> String {
    format!("{method} /v1/pets HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\n{headers}\r\n")
}

#[test]
fn a_malformed_request_counts_like_any_other() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise", "--rpm", "2", "--rpd", "100"]);
    let server = folder.serve_tcp(&["--now", "2029-01-01T00:00:00Z"]);
    let without_host = |key: &str| {
        let head = format!("GET /v1/pets HTTP/1.1\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n");
        last_answer(&server, head.as_bytes())
    };
    assert_eq!([(); 3].map(|()| without_host(&key).status), [400, 400, 429]);
    let answer = without_host("unknown");
    answer.assert_error(400);
    assert_eq!(answer.number("x-ratelimit-limit"), 0, "{answer:?}");
}

#[test]
fn closing_is_announced_wherever_a_body_is_left_unread() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&["--request-timeout", "0.2"]);
    let json = "Content-Type: application/json\r\n";
    let post = |key: &str, headers: &str, body: &str| {
        last_answer(&server, format!("{}{body}", request("POST", key, &format!("{json}{headers}"))).as_bytes())
    };
    post(&key, "Content-Length: 70000\r\n", "").assert_error(413);
    post("unknown", "Content-Length: 70000\r\n", "").assert_error(401);
    post("unknown", "Content-Length: 70\r\n", "only this arrives").assert_error(401);
    post("unknown", "Transfer-Encoding: chunked\r\n", "5\r\n").assert_error(401);
    post("unknown", "Content-Length: 70\r\nExpect: 100-continue\r\n", "").assert_error(401);
    post(&key, "Transfer-Encoding: chunked\r\n", "not a length\r\n").assert_error(400);
    post(&key, "Content-Length: 70\r\n", "only this arrives").assert_error(408);
}

#[test]
fn a_short_body_that_nobody_reads_costs_no_connection() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let length = format!("Content-Length: {}\r\n", ANIMAL.len());
    let refused = format!("{}{ANIMAL}", request("POST", "unknown", &length));
    let received = exchange(&server, format!("{refused}{refused}{}", head("GET", "/v1/pets", &key, None)).as_bytes());
    assert_eq!(received.matches("HTTP/1.1 401").count(), 2, "{received}");
    assert_eq!(received.matches("HTTP/1.1 200").count(), 1, "{received}");
    assert_eq!(received.matches("connection: close").count(), 1, "{received}");
}

#[test]
fn a_client_that_expects_100_is_asked_for_its_body_only_when_it_is_wanted() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let headers = format!("Content-Length: {}\r\nExpect: 100-continue\r\nConnection: close\r\n", ANIMAL.len());
    let headers = format!("Content-Type: application/json\r\n{headers}");
    let mut stream = connect(&server.address);
    stream.write_all(request("POST", &key, &headers).as_bytes()).expect("sent");
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).expect("an interim response");
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(ANIMAL.as_bytes()).expect("sent");
    assert_eq!(Answer::read(&mut stream).status, 201);
    last_answer(&server, request("POST", "unknown", &headers).as_bytes()).assert_error(401);
}

#[test]
fn transfer_codings_other_than_chunked_are_refused_and_end_the_connection() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve_tcp(&[]);
    let post = |codings: &str| request("POST", &key, &format!("Transfer-Encoding: {codings}\r\n")) + "0\r\n\r\n";
    last_answer(&server, post("gzip, chunked").as_bytes()).assert_error(501);
    last_answer(&server, post("chunked, chunked").as_bytes()).assert_error(400);
    // hyper refuses this one by itself: without a last `chunked`, the end of the request is unknown.
    let answer = last_answer(&server, post("gzip").as_bytes());
    assert_eq!((answer.status, &*answer.body), (400, ""), "{answer:?}");
}

#[test]
fn a_head_that_is_too_long_or_has_too_many_fields_is_a_431_without_a_body() {
    let folder = Folder::new();
    let server = folder.serve_tcp(&[]);
    let target = format!("GET /v1/pets?{} HTTP/1.1\r\nHost: test\r\n\r\n", "x".repeat(70_000));
    let field = request("GET", "unknown", &format!("X: {}\r\n", "x".repeat(70_000)));
    let fields = request("GET", "unknown", &"X: x\r\n".repeat(100));
    for sent in [target, field, fields] {
        let answer = last_answer(&server, sent.as_bytes());
        assert_eq!((answer.status, &*answer.body), (431, ""), "{answer:?}");
    }
    let fitting = request(
        "GET",
        "unknown",
        &("X: x\r\n".repeat(90) + &format!("Y: {}\r\n", "y".repeat(30_000)) + "Connection: close\r\n"),
    );
    last_answer(&server, fitting.as_bytes()).assert_error(401);
}

#[test]
fn a_client_may_close_its_side_before_the_response() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let mut stream = connect(&server.address);
    stream.write_all(request("GET", &key, "").as_bytes()).expect("sent");
    stream.close_sending();
    assert_eq!(Answer::read(&mut stream).status, 200);
}

#[test]
fn responses_stay_out_of_caches_and_challenges_name_what_was_wrong() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    for (path, key, status, challenge) in [
        ("/v1/pets", &*key, 200, None),
        ("/v1/pets/1", &key, 404, None),
        ("/v1/pets", "", 401, Some("Bearer realm=\"animal-store\"")),
        ("/v1/pets", "unknown", 401, Some("Bearer realm=\"animal-store\", error=\"invalid_token\"")),
        ("/healthz", "", 200, None),
    ] {
        let answer = server.ask("GET", path, key);
        assert_eq!((answer.status, answer.header("www-authenticate")), (status, challenge), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}
