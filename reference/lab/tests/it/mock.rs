//! The server as a mock for the tests of clients: known keys and animals, slow answers, browsers.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::{Answer, Folder, Server, connect, program};

/// The end of a start that fails, as an exit code and what it says.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = program(&[&["serve", "--db", ":memory:", "--listen", "127.0.0.1:0"], args].concat());
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn faults_of_the_laboratory_know_the_keys_that_were_given() {
    let server =
        Server::start(&["--db", ":memory:", "--key", "pro=my-given-key", "--fault", "auth.exact-key.prefixes"]);
    assert_eq!(server.ask("GET", "/v1/pets", "my-given-k").status, 200, "the fault takes the beginning of a key");
}

const KEY: &str = "test-key-of-a-mock";

/// A server with a key that meets no limit, in a temporary database.
fn mock(args: &[&str]) -> Server {
    Server::start(&[&["--db", ":memory:", "--key", &format!("enterprise={KEY}")], args].concat())
}

#[test]
fn generated_animals_are_there_from_the_start_and_the_same_in_every_run() {
    let list = || mock(&["--animals", "150"]).ask("GET", "/v1/pets?limit=100", KEY).body;
    let first = list();
    assert_eq!(first, list());
    let pets: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!((pets.as_array().map(Vec::len), &pets[0]["id"]), (Some(100), &150.into()));
    let server = mock(&["--animals", "3"]);
    assert_eq!(server.post(KEY, r#"{"name":"Rex","categoryId":1}"#).json()["id"], 4);
    assert!(server.notice.contains(&"animals: 3".to_owned()), "{:?}", server.notice);
}

#[test]
fn animals_of_a_file_are_numbered_in_its_order_and_also_in_the_laboratory() {
    let folder = Folder::new();
    let file = folder.path().join("animals.json");
    std::fs::write(&file, r#"[{"name":"Rex","categoryId":1},{"name":"Mia","categoryId":2,"status":"sold"}]"#)
        .expect("a file");
    let file = file.to_str().expect("a path");
    let server = mock(&["--animals", file]);
    let expected = r#"[{"id":2,"name":"Mia","categoryId":2,"status":"sold"},{"id":1,"name":"Rex","categoryId":1}]"#;
    assert_eq!(server.ask("GET", "/v1/pets", KEY).body, expected);
    let reversed = mock(&["--animals", file, "--choose", "list.order.oldest-first"]).ask("GET", "/v1/pets", KEY).json();
    assert_eq!((&reversed[0]["name"], &reversed[1]["name"]), (&"Rex".into(), &"Mia".into()));
}

#[test]
fn a_database_that_has_animals_keeps_them_and_gets_no_others() {
    let folder = Folder::new();
    let first = folder.serve(&["--animals", "2", "--key", &format!("pro={KEY}")]);
    assert_eq!(first.post(KEY, r#"{"name":"Rex","categoryId":1}"#).status, 201);
    let before = first.ask("GET", "/v1/pets", KEY).body;
    first.stop();
    let second = folder.serve(&["--animals", "5"]);
    assert_eq!(second.ask("GET", "/v1/pets", KEY).body, before);
    let said = "the database has animals already, so --animals adds none";
    assert!(second.notice.iter().any(|line| line == said), "{:?}", second.notice);
}

#[test]
fn a_file_that_is_wrong_ends_the_start_before_a_database_is_made() {
    let folder = Folder::new();
    let file = folder.path().join("animals.json");
    std::fs::write(&file, r#"[{"name":"Rex","categoryId":1},{"name":"Rex"}]"#).expect("a file");
    let output = program(&["serve", "--db", &folder.db_text(), "--animals", file.to_str().expect("a path")]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(3) && said.contains("entry 2 of ") && said.contains("`categoryId`"), "{said}");
    assert!(!folder.db().exists());
}

#[test]
fn answers_of_the_api_take_the_delay_and_others_do_not() {
    let server = mock(&["--delay", "300..310"]);
    let time = |path: &str, key: &str| {
        let started = Instant::now();
        server.ask("GET", path, key);
        started.elapsed()
    };
    for (path, key) in [("/v1/pets", KEY), ("/v1/pets", "wrong"), ("/v1/pets/7", KEY)] {
        assert!(time(path, key) >= Duration::from_millis(300), "{path}");
    }
    // A machine may be slow, but not each time.
    assert!((0..20).any(|_| time("/healthz", "") < Duration::from_millis(300)));
}

/// Sends a request with these further fields.
fn with_fields(server: &Server, method: &str, path: &str, fields: &[&str]) -> Answer {
    let mut stream = connect(&server.address);
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    Answer::read(&mut stream)
}

const PAGE: &str = "http://localhost:3000";
const PREFLIGHT: [&str; 3] = [
    "Origin: http://localhost:3000",
    "Access-Control-Request-Method: POST",
    "Access-Control-Request-Headers: authorization,content-type",
];

#[test]
fn preflights_are_answered_without_a_key_only_where_an_origin_is_allowed() {
    let plain = with_fields(&mock(&[]), "OPTIONS", "/v1/pets", &PREFLIGHT);
    plain.assert_error(401);
    assert_eq!(plain.header("access-control-allow-origin"), None);

    let server = mock(&["--cors", PAGE]);
    let answer = with_fields(&server, "OPTIONS", "/v1/pets", &PREFLIGHT);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization,content-type"));
    assert!(
        answer.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")),
        "{answer:?}"
    );
    with_fields(&server, "OPTIONS", "/v1/pets", &["Origin: http://localhost:3000"]).assert_error(401);
    with_fields(&server, "OPTIONS", "/v1/pets", &[]).assert_error(401);
}

#[test]
fn a_page_of_an_allowed_origin_may_read_answers_and_errors_with_their_headers() {
    let bearer = format!("Authorization: Bearer {KEY}");
    let own = mock(&["--cors", PAGE, "--cors", "https://pets.example"]);
    for (origin, allowed) in [(PAGE, true), ("https://pets.example", true), ("http://localhost:3001", false)] {
        let origin_field = format!("Origin: {origin}");
        for fields in [&[origin_field.as_str(), &bearer][..], &[&origin_field]] {
            let answer = with_fields(&own, "GET", "/v1/pets", fields);
            assert_eq!(answer.status, if fields.len() == 2 { 200 } else { 401 });
            assert_eq!(answer.header("access-control-allow-origin"), allowed.then_some(origin), "{answer:?}");
            let exposed = answer.header("access-control-expose-headers").expect("exposed headers");
            for name in
                ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "sunset", "link"]
            {
                assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{name}");
            }
        }
    }
    let any = with_fields(&mock(&["--cors", "*"]), "GET", "/v1/pets", &["Origin: http://x", &bearer]);
    assert_eq!(any.header("access-control-allow-origin"), Some("*"));
    let (code, said) = refused(&["--cors", "http://localhost:3000/"]);
    assert!(code == Some(2) && said.contains("without a slash at its end"), "{said}");
}
