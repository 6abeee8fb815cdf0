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
fn what_is_not_http_is_refused_by_a_status_alone() {
    let folder = Folder::new();
    let server = folder.serve_tcp(&[]);
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    for (sent, status) in [
        (b"what is this\r\n\r\n".to_vec(), 400),
        (b"GET /v1/pets HTTP/1.1\r\nHost: test\r\nno colon\r\n\r\n".to_vec(), 400),
        (b"POST /v1/pets HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n".to_vec(), 400),
        (b"POST /v1/pets HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked, gzip\r\n\r\n".to_vec(), 400),
        (format!("GET /v1/pets HTTP/1.1\r\nHost: test\r\n{many}\r\n").into_bytes(), 431),
        (format!("GET /v1/pets HTTP/1.1\r\nHost: test\r\nX: {}\r\n\r\n", "x".repeat(400_000)).into_bytes(), 431),
    ] {
        let answer = last_answer(&server, &sent);
        assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&sent[..sent.len().min(80)]));
    }
}

#[test]
fn what_is_not_http_is_refused_after_the_response_to_what_is() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let received = exchange(&server, format!("{}nonsense\r\n\r\n", request("GET", &key, "")).as_bytes());
    let responses: Vec<&str> = received.split("HTTP/1.1 ").skip(1).collect();
    assert!(responses[0].starts_with("200") && responses[0].ends_with("[]"), "{received}");
    assert!(responses[1].starts_with("400"), "{received}");
    assert_eq!(responses.len(), 2, "{received}");
}

#[test]
fn a_request_has_one_valid_host() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let ask = |version: &str, host: &str, key: &str| {
        let head =
            format!("GET /v1/pets HTTP/{version}\r\n{host}Connection: close\r\nAuthorization: Bearer {key}\r\n\r\n");
        last_answer(&server, head.as_bytes())
    };
    for host in ["Host: test\r\n", "Host: [::1]:80\r\n", "Host:\r\n"] {
        assert_eq!(ask("1.1", host, &key).status, 200, "{host}");
    }
    assert!(
        exchange(&server, request("GET", &key, "").replace("1.1", "1.0").replace("Host: test\r\n", "").as_bytes())
            .starts_with("HTTP/1.0 200")
    );
    for host in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: http://a/\r\n", "Host: user@a\r\n"] {
        let answer = ask("1.1", host, &key);
        answer.assert_error(400);
        assert_eq!(answer.number("x-ratelimit-limit"), 60, "the caller is known: {answer:?}");
        let answer = ask("1.1", host, "unknown");
        answer.assert_error(400);
        assert_eq!(answer.number("x-ratelimit-limit"), 0, "{answer:?}");
    }
}

#[test]
fn a_malformed_request_counts_like_any_other() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise", "--rpm", "2", "--rpd", "100"]);
    let server = folder.serve_tcp(&["--now", "2029-01-01T00:00:00Z"]);
    let statuses = [(); 3].map(|()| {
        let head = format!("GET /v1/pets HTTP/1.1\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n");
        last_answer(&server, head.as_bytes()).status
    });
    assert_eq!(statuses, [400, 400, 429]);
}

#[test]
fn transfer_codings_other_than_chunked_once_are_refused() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let chunks = format!("{:x}\r\n{ANIMAL}\r\n0\r\n\r\n", ANIMAL.len());
    for (coding, status) in
        [("gzip, chunked", 501), ("chunked, chunked", 400), ("gzip\r\nTransfer-Encoding: chunked", 501)]
    {
        let headers = format!("Content-Type: application/json\r\nTransfer-Encoding: {coding}\r\n");
        last_answer(&server, format!("{}{chunks}", request("POST", &key, &headers)).as_bytes()).assert_error(status);
    }
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, "[]", "nothing was added");
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

#[test]
fn an_identity_coding_is_none_in_any_case() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve_tcp(&[]);
    let length = ANIMAL.len();
    for (coding, status) in [("Identity", 201), ("identity", 201), ("gzip", 415)] {
        let headers = format!(
            "Content-Type: application/json\r\nContent-Length: {length}\r\nContent-Encoding: {coding}\r\nConnection: close\r\n"
        );
        let answer = last_answer(&server, format!("{}{ANIMAL}", request("POST", &key, &headers)).as_bytes());
        assert_eq!(answer.status, status, "{coding}");
    }
}
