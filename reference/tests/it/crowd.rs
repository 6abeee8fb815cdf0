//! Many clients at once that do nothing, or read nothing.

use std::io::{Read, Write};
use std::time::Duration;

use crate::support::{Folder, Server, connect, head};

/// A server with a list of 100 animals and six megabytes, and a key for it.
fn long_list(args: &[&str]) -> (Server, String) {
    let server = Server::start_tcp(&[&["--db", ":memory:", "--dev"], args].concat());
    let line = server.notice.iter().find(|line| line.starts_with("enterprise")).expect("a key");
    let key = line.split_whitespace().last().expect("a key").to_owned();
    add_long(&server, &key);
    (server, key)
}

/// Adds 100 animals with long names on one connection.
pub(crate) fn add_long(server: &Server, key: &str) {
    let body = format!(r#"{{"name":"{}","categoryId":1}}"#, "x".repeat(60_000));
    let last = head("POST", "/v1/pets", key, Some(("application/json", body.as_bytes()))) + &body;
    let mut stream = connect(&server.address);
    let added = std::thread::scope(|scope| {
        let mut sending = stream.second_handle();
        let requests = last.replace("Connection: close\r\n", "").repeat(99) + &last;
        scope.spawn(move || sending.write_all(requests.as_bytes()).expect("sent"));
        let mut responses = Vec::new();
        stream.read_to_end(&mut responses).expect("responses");
        String::from_utf8(responses).expect("text").matches("HTTP/1.1 201 Created").count()
    });
    assert_eq!(added, 100);
}

#[test]
fn an_idle_crowd_locks_nobody_out_for_longer_than_a_head_may_take() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&["--max-connections", "300", "--header-timeout", "2"]);
    let mut silent: Vec<_> = (0..100).map(|_| connect(&server.address)).collect();
    let mut begun: Vec<_> = (0..100).map(|_| connect(&server.address)).collect();
    for stream in &mut begun {
        stream.write_all(b"GET /v1/pets HT").expect("sent");
    }
    let one = head("GET", "/v1/store/orders", &key, None).replace("Connection: close\r\n", "");
    let mut kept: Vec<_> = (0..100).map(|_| connect(&server.address)).collect();
    for stream in &mut kept {
        stream.write_all(one.as_bytes()).expect("sent");
    }
    for _ in 0..3 {
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    }
    silent.append(&mut begun);
    silent.append(&mut kept);
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let (server, key) = long_list(&["--header-timeout", "1"]);
    let mut stream = connect(&server.address);
    let one = head("GET", "/v1/pets?limit=100", &key, None);
    let kept = one.replace("Connection: close\r\n", "");
    stream.write_all(format!("{kept}{kept}{one}").as_bytes()).expect("sent");
    let mut received = vec![0; 20_000];
    // Its pace is what this is about: 400 KB a second, for three times what it may be silent.
    for _ in 0..60 {
        stream.read_exact(&mut received[..20_000]).expect("more of it");
        std::thread::sleep(Duration::from_millis(50));
    }
    received.clear();
    stream.read_to_end(&mut received).expect("the rest");
    assert!(received.len() > 16_000_000 && received.ends_with(b"}]"), "{} bytes", received.len());
}
