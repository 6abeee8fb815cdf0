//! Many clients at once that do nothing, or read nothing.

use std::io::Write;

use crate::support::{Answer, Folder, connect, head};

#[test]
fn an_idle_crowd_locks_nobody_out() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    // The timeouts are longer than a test waits: only the bound can make room.
    let patient = ["--idle-timeout", "3600", "--header-timeout", "3600"];
    let server = folder.serve(&[&patient[..], &["--max-connections", "300"]].concat());
    let mut silent: Vec<_> = (0..100).map(|_| connect(server.address)).collect();
    let mut begun: Vec<_> = (0..100).map(|_| connect(server.address)).collect();
    for stream in &mut begun {
        stream.write_all(b"GET /v1/pets HT").expect("sent");
    }
    let one = head("GET", "/v1/store/orders", &key, None).replace("Connection: close\r\n", "");
    let mut kept: Vec<_> = (0..100).map(|_| connect(server.address)).collect();
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
fn the_first_request_of_a_connection_has_no_idle_time() {
    let folder = Folder::new();
    let server = folder.serve(&["--header-timeout", "0.2", "--idle-timeout", "3600"]);
    let mut stream = connect(server.address);
    assert_eq!(std::io::Read::read(&mut stream, &mut [0; 1]).expect("closed in order"), 0);
}

#[test]
fn one_address_cannot_take_all_connections() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&["--max-connections-per-address", "2"]);
    let body = br#"{"name":"x","categoryId":1}"#;
    let request = head("POST", "/v1/pets", &key, Some(("application/json", body)));
    let mut busy: Vec<_> = (0..2).map(|_| connect(server.address)).collect();
    for stream in &mut busy {
        stream.write_all(format!("{request}{{").as_bytes()).expect("sent");
    }
    let mut third = connect(server.address);
    assert_eq!(std::io::Read::read(&mut third, &mut [0; 1]).unwrap_or(0), 0, "it is closed at once");
    for stream in &mut busy {
        stream.write_all(&body[1..]).expect("sent");
        assert_eq!(Answer::read(stream).status, 201);
    }
    assert_eq!(server.ask("GET", "/v1/store/orders", &key).status, 200);
}
