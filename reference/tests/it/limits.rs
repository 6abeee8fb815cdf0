//! Rate limits over the wire and across restarts.

use std::io::Write;

use crate::support::{Answer, Folder, Server, connect, eventually, head};

/// The beginning of a minute and a day, so that a test has a whole minute for itself.
const MIDNIGHT: [&str; 2] = ["--now", "2029-01-01T00:00:00Z"];

#[test]
fn a_thousand_parallel_requests_on_a_free_key_admit_exactly_sixty() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[&MIDNIGHT[..], &["--ban-after", "0"]].concat());
    let request = head("GET", "/v1/pets", &key, None);
    let mut streams: Vec<_> = (0..1_000).map(|_| connect(&server.address)).collect();
    for stream in &mut streams {
        stream.write_all(request.as_bytes()).expect("sent");
    }
    let answers: Vec<Answer> = streams.iter_mut().map(Answer::read).collect();
    let mut remaining: Vec<u64> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.number("x-ratelimit-remaining"))
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..60).collect::<Vec<_>>(), "each admitted request was counted once");
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.assert_error(429);
        let wait = answer.number("retry-after");
        assert!((1..=60).contains(&wait), "{answer:?}");
    }
}

#[test]
fn both_windows_survive_a_clean_restart_without_loss() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise", "--rpm", "10", "--rpd", "12"]);
    let server = folder.serve(&MIDNIGHT);
    for _ in 0..7 {
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    }
    server.stop();
    let server = folder.serve(&MIDNIGHT);
    for left in [2, 1, 0] {
        assert_eq!(server.ask("GET", "/v1/pets", &key).number("x-ratelimit-remaining"), left, "of the minute's ten");
    }
    server.ask("GET", "/v1/pets", &key).assert_error(429);
    server.stop();
    let server = folder.serve(&["--now", "2029-01-01T00:01:00Z"]);
    for left in [1, 0] {
        let answer = server.ask("GET", "/v1/pets", &key);
        assert_eq!((answer.number("x-ratelimit-limit"), answer.number("x-ratelimit-remaining")), (12, left));
    }
    let refused = server.ask("GET", "/v1/pets", &key);
    refused.assert_error(429);
    assert!(refused.number("retry-after") > 86_000, "{refused:?}");
}

#[test]
fn a_killed_server_forgets_at_most_what_it_had_not_stored() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&MIDNIGHT);
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    }
    eventually("the usage is stored", || {
        let conn = rusqlite::Connection::open(folder.db()).expect("a database");
        let in_day = conn.query_row("SELECT in_day FROM usage", [], |row| row.get::<_, i64>(0));
        (in_day == Ok(20)).then_some(())
    });
    server.kill();
    let answer = folder.serve(&MIDNIGHT).ask("GET", "/v1/pets", &key);
    assert_eq!(answer.number("x-ratelimit-remaining"), 39);
}

fn exhaust(server: &Server, key: &str) -> Answer {
    eventually("the key is banned", || {
        let answer = server.ask("GET", "/v1/pets", key);
        (answer.status == 429 && answer.json()["code"] == "temporarily_banned").then_some(answer)
    })
}

#[test]
fn a_key_that_keeps_sending_is_banned_and_a_ban_survives_a_restart() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise", "--rpm", "2", "--rpd", "1000"]);
    let server = folder.serve(&[&MIDNIGHT[..], &["--ban-after", "3", "--ban-seconds", "120"]].concat());
    let statuses: Vec<u16> = (0..5).map(|_| server.ask("GET", "/v1/pets", &key).status).collect();
    assert_eq!(statuses, [200, 200, 429, 429, 429]);
    let banned = exhaust(&server, &key);
    assert!((61..=180).contains(&banned.number("retry-after")), "{banned:?}");
    server.stop();
    let server = folder.serve(&["--now", "2029-01-01T00:01:30Z"]);
    let still = server.ask("GET", "/v1/pets", &key);
    still.assert_error(429);
    assert_eq!(still.number("x-ratelimit-reset"), banned.number("x-ratelimit-reset"));
    server.stop();
    assert_eq!(folder.serve(&["--now", "2029-01-01T00:03:00Z"]).ask("GET", "/v1/pets", &key).status, 200);
}

#[test]
fn a_refused_request_does_nothing() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise", "--rpm", "1", "--rpd", "10"]);
    let server = folder.serve(&MIDNIGHT);
    let body = r#"{"name":"x","categoryId":1}"#;
    assert_eq!(server.post(&key, body).status, 201);
    server.post(&key, body).assert_error(429);
    let other = folder.issue(&["free"]);
    assert_eq!(server.ask("GET", "/v1/pets", &other).json().as_array().map(Vec::len), Some(1));
}
